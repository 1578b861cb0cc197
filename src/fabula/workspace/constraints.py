"""What a person can do with constraints: list, add, edit, remove, and check a text against them (con-1 … con-4)."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

import msgspec
from msgspec import Struct

from fabula.codex import Codex
from fabula.constraints import Constraint, Constraints, edits
from fabula.constraints.checks import Violation, find_check
from fabula.constraints.model import TextCheck
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.core.story import Position
from fabula.settings.values import get_value
from fabula.skills.judge import find_violations
from fabula.store.transaction import WriteTransaction
from fabula.text.offsets import normalise
from fabula.workspace.names import find_by_name
from fabula.workspace.story_places import END, START, read_limit
from fabula.workspace.verbs import ProjectVerbs, select_given

END_OF_DOCUMENT = 1 << 62
NONE = "none"  # takes the check of a constraint away


class CheckedConstraint(Struct, frozen=True):
    """A constraint, and what a program can check of it."""

    constraint: Constraint
    check: TextCheck | None


class ConstraintFields(TypedDict, total=False):
    """What can be said of a constraint; what is None or left out stays as it is."""

    kind: str | None
    origin: str | None
    priority: int | None
    since: str | None  # a place in the story, or `start`
    until: str | None  # a place in the story, or `end`
    check: str | None  # what a program checks, as JSON, or `none`


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

    def add(self, text: str, *, constraint_id: str = "", **fields: Unpack[ConstraintFields]) -> CheckedConstraint:
        """Add a constraint; it is in force in the next prompt."""
        with self._write() as tx:
            values = {"id": constraint_id or new_id(), "text": text, **_values(tx, fields)}
            try:
                made = msgspec.convert(values, Constraint)
            except msgspec.ValidationError as error:
                raise FabulaError(
                    Code.CONSTRAINT_VALIDATION_ERROR,
                    message("This cannot be a constraint: {error}. Nothing was changed.", error=error),
                ) from error
            created = edits.create(tx, made, limit=get_value(tx, "limits.constraints"))
            stored = edits.get(tx, created).constraint
        return CheckedConstraint(stored, find_check(stored))

    def edit(self, constraint_id: str, *, text: str | None = None, **fields: Unpack[ConstraintFields]) -> Constraint:
        """Change what is given of a constraint."""
        with self._write() as tx:
            constraint_id = self._find_id(constraint_id)
            values = _values(tx, fields)
            edits.update(tx, constraint_id, values if text is None else {**values, "text": text})
            return edits.get(tx, constraint_id).constraint

    def remove(self, constraint_id: str) -> None:
        """Remove a constraint."""
        with self._write() as tx:
            edits.delete(tx, self._find_id(constraint_id))

    def _find_id(self, constraint: str) -> str:
        rules = [one.constraint for one in self.list_constraints()]
        return find_by_name(rules, constraint, what=message("constraint"), code=Code.CONSTRAINT_NOT_FOUND).id

    def check_text(self, text: str, *, document_id: str = "") -> list[Violation]:
        """List what a program finds wrong in a text that would end a document, or stand anywhere (con-4)."""
        view = self._view
        if document_id and document_id not in view.timeline:
            raise FabulaError(
                Code.DOCUMENT_UNKNOWN,
                message("The story has no document {document!r}. Nothing was checked.", document=document_id),
            )
        position = Position(document_id, END_OF_DOCUMENT) if document_id else None
        return find_violations(normalise(text), view, position)


def _values(tx: WriteTransaction, fields: ConstraintFields) -> dict[str, Any]:
    """Return the fields of a constraint that something was said about, as constraints are stored."""
    values = select_given(fields, ConstraintFields)
    for name, no_limit in (("since", START), ("until", END)):
        if name in values:
            values[name] = read_limit(tx, values[name], no_limit)
    if "check" in values:
        try:
            values["check"] = None if values["check"] == NONE else msgspec.json.decode(values["check"])
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise FabulaError(
                Code.CONSTRAINT_VALIDATION_ERROR,
                message("The check is not valid JSON: {error}. Nothing was changed.", error=error),
            ) from error
    return values
