"""What a person can do with constraints: list, add, edit, remove, and check a text against them (con-1 … con-4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import msgspec
from msgspec import Struct

from fabula.codex import Codex
from fabula.constraints import Constraint, Constraints, edits
from fabula.constraints.checks import EntryNames, Violation, explain_check, find_check, is_in_force
from fabula.constraints.model import ConstraintKind, ConstraintOrigin, ForbiddenNames, TextCheck, number_constraints
from fabula.constraints.rule_parser import is_condition_only, parse_rule
from fabula.core.decoding import explain_decode_error, explain_syntax_error
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import Sentence, message
from fabula.core.story import Position, Timeline
from fabula.manuscript.model import Document, Manuscript
from fabula.memory.deduplicate import analyse_meaning, is_same
from fabula.settings.values import get_value
from fabula.skills.judge import check_by_program, find_document_violations, find_violations
from fabula.skills.model import JudgeFinding
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import find_by_name, fold_name
from fabula.text.offsets import normalise
from fabula.workspace.arguments import read_choice
from fabula.workspace.names import find_document
from fabula.workspace.story_places import END, START, read_limit
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, label_removal, select_given

END_OF_DOCUMENT = 1 << 62
NONE = "none"  # takes the check of a constraint away


class CheckedConstraint(Struct, frozen=True):
    """A constraint with its number, what a program checks of it and where, and otherwise why the model does."""

    constraint: Constraint
    check: TextCheck | None
    problem: Sentence | None = None
    chapters: Sentence | None = None
    number: int = 0
    since: Sentence | None = None  # the names of the places where it begins and ends
    until: Sentence | None = None
    unknown_names: tuple[str, ...] = ()  # that it forbids and that no entry of the codex has

    @property
    def how(self) -> Sentence:
        """Who checks the constraint, and why, in the words of every list and answer."""
        if self.check is not None and self.chapters is not None:
            return message("checked by a program {chapters}", chapters=self.chapters)
        if self.check is not None:
            return message("checked by a program")
        if self.problem is None:
            return message("left to the judge model")
        if self.chapters is not None:
            return message(
                "sent {chapters}, and left to the judge model, because {reason}",
                chapters=self.chapters,
                reason=self.problem,
            )
        return message("left to the judge model, because {reason}", reason=self.problem)


class DocumentViolations(Struct, frozen=True):
    """What a program finds wrong in one document of the story, with the text."""

    document: Document
    chapter_name: Sentence | None
    violations: tuple[Violation, ...]


class ConstraintFields(TypedDict, total=False):
    """What can be said of a constraint; what is None or left out stays as it is."""

    kind: str | None
    origin: str | None
    priority: int | None
    since: str | None  # a place in the story, or `start`
    until: str | None  # a place in the story, or `end`
    check: str | Mapping[str, Any] | None  # what a program checks, as JSON or as a table; `none` takes it away


class ConstraintVerbs(ProjectVerbs):
    """The constraints of an open project."""

    def list_constraints(self, *, kind: str | None = None, origin: str | None = None) -> list[CheckedConstraint]:
        """List constraints in the order in which they stand in a prompt."""
        rules = self._view.snapshot(Constraints)
        kind = kind and read_choice(kind, ConstraintKind, "kind").value
        origin = origin and read_choice(origin, ConstraintOrigin, "origin").value
        return [
            self._explain(rule)
            for rule in (rules.constraints if rules is not None else ())
            if kind in (None, rule.kind.value) and origin in (None, rule.origin.value)
        ]

    def find(self, constraint_id: str) -> CheckedConstraint:
        """Return one constraint, by its number or id."""
        with self._read() as reading:
            found = _find_id(reading, constraint_id)
            return self._explain(edits.get(reading, found).constraint)

    def number_all(self) -> dict[str, int]:
        """Return the numbers that lists show, by the ids of the constraints."""
        rules = self._view.snapshot(Constraints)
        return number_constraints(() if rules is None else rules.constraints)

    def has_judge(self) -> bool:
        """Does the judge model check what no program can?"""
        if self._project.store is None:
            return False
        with self._read() as reading:
            return bool(get_value(reading, "judge.withModel"))

    def add(self, text: str, *, constraint_id: str = "", **fields: Unpack[ConstraintFields]) -> CheckedConstraint:
        """Add a constraint; it is in force in the next prompt."""
        _check_is_rule(text)
        with self._write(label_addition(message("constraint"), text)) as tx:
            values = {"id": constraint_id or new_id(), "text": text, **_values(tx, fields)}
            try:
                made = msgspec.convert(values, Constraint)
            except msgspec.ValidationError as error:
                raise FabulaError(
                    Code.CONSTRAINT_VALIDATION_ERROR,
                    message(
                        "This cannot be a constraint: {error}. Nothing was changed.",
                        error=explain_decode_error(error, Constraint),
                    ),
                ) from error
            self._check_is_new(made)
            self._check_span(made)
            created = edits.create(tx, made, limit=get_value(tx, "limits.constraints"))
            stored = edits.get(tx, created).constraint
        return self._explain(stored)

    def _check_is_new(self, made: Constraint) -> None:
        """Refuse a rule that the project has already, in the same words for the same part of the story."""
        text = " ".join(made.text.split())
        for one in self.list_constraints():
            rule = one.constraint
            if " ".join(rule.text.split()) == text and (rule.since, rule.until) == (made.since, made.until):
                raise FabulaError(
                    Code.CONSTRAINT_VALIDATION_ERROR,
                    message(
                        "Constraint {number} says the same already: “{text}” Nothing was changed.",
                        number=one.number,
                        text=rule.text,
                    ),
                )

    def _check_span(self, rule: Constraint) -> None:
        """Refuse a rule that ends before it begins."""
        if rule.since and rule.until and self._view.timeline.has_reached(rule.until, rule.since):
            raise FabulaError(
                Code.CONSTRAINT_VALIDATION_ERROR,
                message("A constraint cannot end before it begins. Choose other chapters. Nothing was changed."),
            )

    def edit(
        self, constraint_id: str, *, text: str | None = None, **fields: Unpack[ConstraintFields]
    ) -> CheckedConstraint:
        """Change what is given of a constraint."""
        if text is not None:
            _check_is_rule(text)
        with self._write(label_change(message("constraint"), text or constraint_id)) as tx:
            values = _values(tx, fields)
            constraint_id = _find_id(tx, constraint_id)
            edits.update(tx, constraint_id, values if text is None else {**values, "text": text})
            stored = edits.get(tx, constraint_id).constraint
            tx.undo_label = label_change(message("constraint"), stored.text)
            self._check_span(stored)
        return self._explain(stored)

    def remove(self, constraint_id: str) -> CheckedConstraint:
        """Remove a constraint; return what it was."""
        with self._write(label_removal(message("constraint"), constraint_id)) as tx:
            found = _find_id(tx, constraint_id)
            removed = self._explain(edits.get(tx, found).constraint)
            tx.undo_label = label_removal(message("constraint"), removed.constraint.text)
            edits.delete(tx, found)
        return removed

    def count_unchecked(self, *, chapter: str = "") -> int:
        """Count the constraints that no program checks: in the whole story, or at a chapter."""
        rules = [one.constraint for one in self.list_constraints() if one.check is None]
        if not chapter:
            return len(rules)
        timeline, here = self._view.timeline, Position(find_document(self._documents(), chapter), END_OF_DOCUMENT)
        return sum(is_in_force(rule, here, timeline) for rule in rules)

    def check_text(self, text: str, *, document_id: str = "") -> list[Violation]:
        """List what a program finds wrong in a text that would end a document, or stand anywhere (con-4)."""
        position = Position(find_document(self._documents(), document_id), END_OF_DOCUMENT) if document_id else None
        return find_violations(normalise(text), self._view, position)

    def judge_text(self, text: str, *, document_id: str = "") -> list[JudgeFinding]:
        """List what a program finds wrong in a text that would end a document: broken rules, and continuity (con-4).

        Continuity means dead characters who speak, and names that neither the codex nor the story has.
        """
        documents = self._documents()
        position = Position(find_document(documents, document_id), END_OF_DOCUMENT) if document_id else None
        return check_by_program(normalise(text), self._view, position, [one.text for one in documents])

    def check_story(self, chapter: str = "") -> list[DocumentViolations]:
        """List what a program finds wrong in a chapter, by id, title or number, or in all documents (con-4)."""
        view, documents = self._view, self._documents()
        if chapter:
            documents = _find_chapter(documents, chapter)
        return [
            DocumentViolations(
                document,
                view.timeline.chapter_name(document.id),
                tuple(find_document_violations(document.text, view, document.id)),
            )
            for document in documents
        ]

    def _documents(self) -> Sequence[Document]:
        return (self._view.snapshot(Manuscript) or Manuscript()).documents

    def _explain(self, rule: Constraint) -> CheckedConstraint:
        view = self._view
        codex = view.snapshot(Codex)
        names = {} if codex is None else {entry.id: entry.names for entry in codex.entries}
        explained = explain_check(rule, view.timeline, names)
        return CheckedConstraint(
            rule,
            explained.check,
            explained.problem,
            explained.chapters,
            self.number_all().get(rule.id, 0),
            _name_place(rule.since, view.timeline),
            _name_place(rule.until, view.timeline),
            _find_unknown_names(explained.check, names),
        )


def _check_is_rule(text: str) -> None:
    """Refuse a text that says where a rule holds, but not what the rule is."""
    if is_condition_only(text):
        raise FabulaError(
            Code.CONSTRAINT_VALIDATION_ERROR,
            message(
                "“{text}” says where a rule holds, but not what the rule is. Add it: what must not be there? "
                "Nothing was changed.",
                text=text.strip(),
            ),
        )


def _find_unknown_names(check: TextCheck | None, names: EntryNames) -> tuple[str, ...]:
    """The names that a check forbids and that no entry of the codex has."""
    if not isinstance(check, ForbiddenNames):
        return ()
    known = {fold_name(name) for ident, own in names.items() for name in (ident, *own)}
    return tuple(name for name in check.names if fold_name(name) not in known)


def _name_place(place: Position | None, timeline: Timeline) -> Sentence | None:
    """A place in the story as a list shows it: its chapter, with its title."""
    if place is None:
        return None
    entry, chapter = timeline.entry(place.document), timeline.chapter_name(place.document)
    if entry is None:
        return message("a chapter that is gone")
    title = entry.title or place.document
    return (
        message("{title}", title=title)
        if chapter is None
        else message("{chapter} “{title}”", chapter=chapter, title=title)
    )


def find_same_rule(rules: Iterable[Constraint], text: str) -> Constraint | None:
    """The first rule that says the same as a text, perhaps in other words, and holds in the whole story."""
    check, meaning = parse_rule(text), analyse_meaning(text)
    for rule in rules:
        if rule.since is None and rule.until is None:
            is_same_check = check is not None and find_check(rule) == check
            if is_same_check or is_same(meaning, analyse_meaning(rule.text)):
                return rule
    return None


def _find_chapter(documents: Sequence[Document], chapter: str) -> tuple[Document, ...]:
    """The document that a person means, with the scenes below it."""
    found = find_document(documents, chapter)
    inside = {found}
    inside.update(document.id for document in documents if document.parent in inside)
    return tuple(document for document in documents if document.id in inside)


def _find_id(reading: ReadTransaction, constraint: str) -> str:
    """Return the id of the constraint that has that id, or whose id or text begins so."""
    rules = [stored.constraint for stored in edits.list_constraints(reading)]
    numbers = number_constraints(rules)
    found = find_by_name(
        rules,
        constraint.removeprefix("constraint:"),
        number_of=lambda rule: numbers[rule.id],
        what=message("constraint"),
        names_of=lambda rule: (rule.text,),
        code=Code.CONSTRAINT_NOT_FOUND,
    )
    return found.id


def _values(tx: WriteTransaction, fields: ConstraintFields) -> dict[str, Any]:
    """Return the fields of a constraint that something was said about, as constraints are stored."""
    values = select_given(fields)
    for name, no_limit in (("since", START), ("until", END)):
        if name in values:
            values[name] = read_limit(tx, values[name], no_limit)
    if values.get("check") == NONE:
        values["check"] = None
    elif isinstance(values.get("check"), str):
        try:
            values["check"] = msgspec.json.decode(values["check"])
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise FabulaError(
                Code.CONSTRAINT_VALIDATION_ERROR,
                message(
                    "The check is not valid JSON: {error}. Nothing was changed.", error=explain_syntax_error(error)
                ),
            ) from error
    return values
