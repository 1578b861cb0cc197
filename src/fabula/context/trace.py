"""Trace: why each thing is in the prompt or out of it.

A writer's first question is "why does it not know that?". So every fragment that was offered gets
a verdict, the losers too, and a dry run adds what was never offered. If it is not in the trace, it
did not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from fabula.core.fragment import Fragment, Layer


class Reason(StrEnum):
    """Why a fragment is where it is. The words are in `EXPLAINED`."""

    KEPT = "KEPT"
    LATE = "LATE"
    SHORTENED = "SHORTENED"
    NOT_REVEALED = "NOT_REVEALED"

    NOT_YET = "NOT_YET"
    NO_LONGER = "NO_LONGER"
    NOT_KNOWN = "NOT_KNOWN"
    EXCLUDED = "EXCLUDED"
    DUPLICATE = "DUPLICATE"
    EMPTY = "EMPTY"
    TOO_LARGE = "TOO_LARGE"
    PASSED_OVER = "PASSED_OVER"
    NO_ROOM = "NO_ROOM"
    CHUNK_LIMIT = "CHUNK_LIMIT"
    HISTORY_CAP = "HISTORY_CAP"
    WINDOW_STEP = "WINDOW_STEP"
    RULES_OVERBUDGET = "RULES_OVERBUDGET"
    CONDITION_UNMET = "CONDITION_UNMET"
    ANCHOR_MISSING = "ANCHOR_MISSING"

    NOT_DETECTED = "NOT_DETECTED"
    PINNED_OUT = "PINNED_OUT"
    LEVEL_MANUAL = "LEVEL_MANUAL"
    LEVEL_NEVER = "LEVEL_NEVER"
    NOT_CHOSEN = "NOT_CHOSEN"
    BOOK_RULES = "BOOK_RULES"


EXPLAINED: dict[Reason, str] = {
    Reason.KEPT: "it fits",
    Reason.LATE: "noticed in this request: it stands behind the window until the window next steps",
    Reason.SHORTENED: "the part furthest from the cursor was left out",
    Reason.NOT_REVEALED: "the author may know it; it is marked as not to be revealed yet",
    Reason.NOT_YET: "the story has not come to it yet",
    Reason.NO_LONGER: "it no longer holds at this point of the story",
    Reason.NOT_KNOWN: "whoever's eyes we look through here does not know it",
    Reason.EXCLUDED: "it was excluded by hand",
    Reason.DUPLICATE: "the same fact is already in",
    Reason.EMPTY: "it holds no text",
    Reason.TOO_LARGE: "it is larger than all the room of its layer",
    Reason.PASSED_OVER: "it did not fit into what higher ranked ones left; smaller ones behind it did",
    Reason.NO_ROOM: "the budget was spent on higher ranked ones",
    Reason.CHUNK_LIMIT: "more chunks were offered than a prompt may hold; better ones were kept",
    Reason.HISTORY_CAP: "older than the conversation window reaches",
    Reason.WINDOW_STEP: "left out when the conversation window last stepped, to keep the prompt cacheable",
    Reason.RULES_OVERBUDGET: "rules outgrew their line; more important or more relevant ones were kept",
    Reason.CONDITION_UNMET: "its condition does not hold here, so for this request it does not exist",
    Reason.ANCHOR_MISSING: "its anchor is missing, so it stands where it was listed",
    Reason.NOT_DETECTED: "its name does not occur near the cursor, in the instruction or the conversation",
    Reason.PINNED_OUT: "it is pinned to stay out of this document or conversation",
    Reason.LEVEL_MANUAL: "it enters only when pulled in by hand",
    Reason.LEVEL_NEVER: "it is set never to be sent",
    Reason.NOT_CHOSEN: "other material was nearer",
    Reason.BOOK_RULES: "its lorebook's own rules left it out",
}

IN = frozenset({Reason.KEPT, Reason.LATE, Reason.SHORTENED, Reason.NOT_REVEALED, Reason.ANCHOR_MISSING})
_FORCED = frozenset({Reason.TOO_LARGE, Reason.PASSED_OVER, Reason.NO_ROOM, Reason.CHUNK_LIMIT})
OVERRODE = "our budget overrode the lorebook, whose own rules had let it in"


class Verdict(Struct, frozen=True):
    """What became of one fragment."""

    source: str
    title: str
    layer: Layer | None  # none: a message of the preset
    reason: Reason
    tokens: int
    score: float
    detail: str = ""
    text: str = ""

    @property
    def included(self) -> bool:
        """Is it in the prompt, whole or in part?"""
        return self.reason in IN

    @property
    def sentence(self) -> str:
        """The reason in words."""
        words = EXPLAINED[self.reason]
        return f"{words} ({self.detail})" if self.detail else words


Outcome = tuple[Fragment, Reason, int, str]  # what became of a fragment, before anybody asks


class Shown(Protocol):
    """A fragment that is in the prompt, and its cost."""

    @property
    def fragment(self) -> Fragment: ...
    @property
    def tokens(self) -> int: ...


class Trace:
    """All outcomes of one assembly; verdicts are written out when somebody reads them."""

    __slots__ = ("_beside", "_kept", "_outcomes", "_unrevealed", "_verdicts")

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        kept: Sequence[Sequence[Shown]] = (),
        unrevealed: Set[int] = frozenset(),
        beside: Callable[[], Iterable[Verdict]] = tuple,
    ) -> None:
        """`beside` tells what is no fragment of this request: messages of the preset, and what was never offered."""
        self._outcomes = outcomes
        self._kept = kept
        self._unrevealed = unrevealed
        self._beside = beside
        self._verdicts: list[Verdict] | None = None

    def __iter__(self) -> Iterator[Verdict]:
        if self._verdicts is None:
            hidden = self._unrevealed
            kept: list[Outcome] = [(p.fragment, Reason.KEPT, p.tokens, "") for pieces in self._kept for p in pieces]
            found = [
                _verdict(fragment, Reason.NOT_REVEALED if id(fragment) in hidden and why in IN else why, tokens, detail)
                for fragment, why, tokens, detail in (*kept, *self._outcomes)
            ]
            self._verdicts = [*found, *self._beside()]
            self._outcomes, self._kept, self._beside = (), (), tuple
        return iter(self._verdicts)

    def of_layer(self, layer: Layer | None) -> list[Verdict]:
        """The verdicts of one layer, or of the preset, those that are in first."""
        return sorted((v for v in self if v.layer is layer), key=lambda v: not v.included)

    def find(self, name: str) -> list[Verdict]:
        """What is called so; else what has it in its name; else what says it, as rules do that have no name."""
        wanted = name.casefold()
        exact = [v for v in self if wanted in (v.source.casefold(), v.title.casefold())]
        alike = exact or [v for v in self if wanted in v.source.casefold() or wanted in v.title.casefold()]
        return alike or [v for v in self if wanted and wanted in v.text.casefold()]


def _verdict(fragment: Fragment, reason: Reason, tokens: int, detail: str) -> Verdict:
    return Verdict(
        fragment.source,
        fragment.title,
        fragment.layer,
        reason,
        tokens,
        fragment.score,
        detail or (OVERRODE if fragment.fitted and reason in _FORCED else str(fragment.because)),
        fragment.text,
    )
