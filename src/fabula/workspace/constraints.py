"""What a person can do with constraints: list, add, edit, remove, and check a text against them (con-1 … con-4)."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from fabula.codex import Codex
from fabula.constraints import Constraint, Constraints, edits
from fabula.constraints.checks import Violation, find_check
from fabula.constraints.model import TextCheck
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.story import Position
from fabula.settings.values import get_value
from fabula.skills.judge import find_violations
from fabula.store.transaction import WriteTransaction
from fabula.text.offsets import normalise
from fabula.workspace.story_places import read_place
from fabula.workspace.verbs import ProjectVerbs

END_OF_DOCUMENT = 1 << 62
START, END, NONE = "start", "end", "none"


class CheckedConstraint(Struct, frozen=True):
    """A constraint, and what a program can check of it."""

    constraint: Constraint
    check: TextCheck | None


class ConstraintVerbs(ProjectVerbs):
    """The constraints of an open project."""

    def list_constraints(self, *, kind: str | None = None, origin: str | None = None) -> list[CheckedConstraint]:
        """List constraints in the order in which they stand in a prompt."""
        rules, codex = self._view.snapshot(Constraints), self._view.snapshot(Codex)
        names = {} if codex is None else {entry.id: entry.names for entry in codex.entries}
        return [
            CheckedConstraint(rule, find_check(rule, names))
            for rule in (rules.constraints if rules is not None else ())
            if kind in (None, rule.kind.value) and origin in (None, rule.origin.value)
        ]

    def add(
        self,
        text: str,
        *,
        constraint_id: str = "",
        kind: str | None = None,
        origin: str | None = None,
        priority: int | None = None,
        since: str | None = None,
        until: str | None = None,
        check: str | None = None,
    ) -> CheckedConstraint:
        """Add a constraint; it is in force in the next prompt. `check` is what a program checks, as JSON."""
        with self._write() as tx:
            values = _values(tx, kind=kind, origin=origin, priority=priority, since=since, until=until, check=check)
            try:
                made = msgspec.convert({"id": constraint_id or new_id(), "text": text, **values}, Constraint)
            except msgspec.ValidationError as error:
                raise _constraint_error(f"This cannot be a constraint: {error}.") from error
            created = edits.create(tx, made, limit=get_value(tx, "limits.constraints"))
            stored = edits.get(tx, created).constraint
        return CheckedConstraint(stored, find_check(stored))

    def edit(
        self,
        constraint_id: str,
        *,
        text: str | None = None,
        kind: str | None = None,
        origin: str | None = None,
        priority: int | None = None,
        since: str | None = None,
        until: str | None = None,
        check: str | None = None,
    ) -> Constraint:
        """Change what is given of a constraint."""
        with self._write() as tx:
            values = _values(tx, kind=kind, origin=origin, priority=priority, since=since, until=until, check=check)
            edits.update(tx, constraint_id, values if text is None else {**values, "text": text})
            return edits.get(tx, constraint_id).constraint

    def remove(self, constraint_id: str) -> None:
        """Remove a constraint."""
        with self._write() as tx:
            edits.delete(tx, constraint_id)

    def check_text(self, text: str, *, document_id: str = "") -> list[Violation]:
        """List what a program finds wrong in a text that would end a document, or stand anywhere (con-4)."""
        view = self._view
        if document_id and document_id not in view.timeline:
            raise FabulaError(Code.DOCUMENT_UNKNOWN, f"The story has no document {document_id!r}. Look at the list.")
        position = Position(document_id, END_OF_DOCUMENT) if document_id else None
        return find_violations(normalise(text), view, position)


def _values(
    tx: WriteTransaction,
    *,
    kind: str | None,
    origin: str | None,
    priority: int | None,
    since: str | None,
    until: str | None,
    check: str | None,
) -> dict[str, Any]:
    """Return the fields of a constraint that something was said about."""
    plain: dict[str, Any] = {"kind": kind, "origin": origin, "priority": priority}
    values = {name: value for name, value in plain.items() if value is not None}
    for name, place, nowhere in (("since", since, START), ("until", until, END)):
        if place is not None:
            values[name] = None if place == nowhere else read_place(tx, place)
    if check is not None:
        try:
            values["check"] = None if check == NONE else msgspec.json.decode(check)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise _constraint_error(f"What is to be checked is no JSON: {error}.") from error
    return values


def _constraint_error(sentence: str) -> FabulaError:
    return FabulaError(Code.CONSTRAINT_VALIDATION_ERROR, f"{sentence} Nothing was changed.")
