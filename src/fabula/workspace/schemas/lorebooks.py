"""Schemas of lorebooks and of what a text activates in them (inj-7, inj-8)."""

from __future__ import annotations

from fabula.context.trace import EXPLANATIONS
from fabula.core.messages import ENGLISH
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import Activation, LorebookContents, LoreEntry
from fabula.lorebook.source import explain_verdict
from fabula.workspace.lorebooks import HiddenLoreEntry, LorebookSummary, LorebookTrial
from fabula.workspace.schemas.schema import Schema, describe


class LorebookInfo(Schema):
    """A lorebook in a list; `entries` is how many it has, None where it cannot be read.

    `other_names` are the name and nickname of its card where the book is called otherwise.
    """

    id: str
    name: str
    format: str
    rules: str
    active: bool
    entries: int | None
    other_names: tuple[str, ...]


class LorebookPage(Schema):
    """The entries of a lorebook, and what of it has no equal here."""

    name: str
    entries: tuple[LoreEntry, ...]
    warnings: tuple[str, ...]


class LoreVerdictInfo(Schema):
    """Whether a text activates an entry, and why."""

    book: str
    uid: int
    title: str
    active: bool
    reason: str
    why: str


def describe_lorebook(summary: LorebookSummary) -> LorebookInfo:
    """Describe a lorebook in a list."""
    return describe(LorebookInfo, summary.book, entries=summary.entry_count, other_names=summary.other_names)


def describe_contents(book: Lorebook, contents: LorebookContents, language: str = ENGLISH) -> LorebookPage:
    """Describe the entries of a lorebook."""
    return describe(LorebookPage, contents, language, name=book.name, entries=contents.book.entries)


def describe_trial(trial: LorebookTrial, language: str = ENGLISH) -> list[LoreVerdictInfo]:
    """Describe what a text activates, and last the entries that a reader must not see."""
    rows = [row for activation in trial.activations for row in describe_activation(activation, language)]
    return [*rows, *(describe_hidden(hidden, language) for hidden in trial.hidden)]


def describe_activation(activation: Activation, language: str = ENGLISH) -> list[LoreVerdictInfo]:
    """Describe the verdict on every entry of one scan, the active ones first."""
    rows = [
        describe(
            LoreVerdictInfo,
            verdict,
            language,
            book=verdict.ref.book,
            uid=verdict.ref.uid,
            why=explain_verdict(verdict),
        )
        for verdict in activation.verdicts
    ]
    return sorted(rows, key=lambda row: not row.active)


def describe_hidden(hidden: HiddenLoreEntry, language: str = ENGLISH) -> LoreVerdictInfo:
    """Describe an entry that a reader must not see."""
    ref, why = hidden.ref, hidden.cause or EXPLANATIONS[hidden.reason]
    return describe(LoreVerdictInfo, hidden, language, book=ref.book, uid=ref.uid, active=False, why=why)
