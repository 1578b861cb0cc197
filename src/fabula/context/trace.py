"""Trace: why each fragment is in the prompt or left out (ctx-9).

Every fragment that was offered gets a verdict, also those left out, because a writer's first
question is "why does it not know that?". A dry run adds what sources did not offer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import Message


class Reason(StrEnum):
    """Why a fragment is in the prompt or left out; `EXPLANATIONS` has a sentence for each."""

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


EXPLANATIONS: dict[Reason, str] = {
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

INCLUDED_REASONS = frozenset({Reason.KEPT, Reason.LATE, Reason.SHORTENED, Reason.NOT_REVEALED, Reason.ANCHOR_MISSING})
_FORCED = frozenset({Reason.TOO_LARGE, Reason.PASSED_OVER, Reason.NO_ROOM, Reason.CHUNK_LIMIT})
BOOK_OVERRIDDEN = "our budget overrode the lorebook, whose own rules had let it in"


class Verdict(Struct, frozen=True):
    """What became of one fragment."""

    source: str
    title: str
    layer: Layer | None  # None: a message of the preset
    reason: Reason
    tokens: int
    score: float
    detail: Message | str = ""
    text: str = ""

    @property
    def included(self) -> bool:
        """Whether it is in the prompt, all of it or a part."""
        return self.reason in INCLUDED_REASONS

    @property
    def sentence(self) -> str:
        """The reason as a sentence."""
        words = EXPLANATIONS[self.reason]
        return f"{words} ({self.detail})" if self.detail else words


FragmentOutcome = tuple[Fragment, Reason, int, str]  # fragment, reason, tokens, detail


class IncludedFragment(Protocol):
    """A fragment that is in the prompt, and its tokens."""

    @property
    def fragment(self) -> Fragment: ...
    @property
    def tokens(self) -> int: ...


class Trace:
    """The verdicts of one assembly. They are made when somebody reads them."""

    __slots__ = ("_included", "_more", "_not_revealed", "_outcomes", "_verdicts")

    def __init__(
        self,
        outcomes: Sequence[FragmentOutcome],
        included: Sequence[Sequence[IncludedFragment]] = (),
        not_revealed: Set[int] = frozenset(),
        more: Callable[[], Iterable[Verdict]] = tuple,
    ) -> None:
        """`more` makes the verdicts of what is no fragment: preset messages, and what was never offered."""
        self._outcomes = outcomes
        self._included = included
        self._not_revealed = not_revealed
        self._more = more
        self._verdicts: list[Verdict] | None = None

    def __iter__(self) -> Iterator[Verdict]:
        if self._verdicts is None:
            included = [
                self._make_verdict(piece.fragment, Reason.KEPT, piece.tokens, "")
                for pieces in self._included
                for piece in pieces
            ]
            others = [self._make_verdict(*outcome) for outcome in self._outcomes]
            self._verdicts = [*included, *others, *self._more()]
            self._outcomes, self._included, self._more = (), (), tuple
        return iter(self._verdicts)

    def layer_verdicts(self, layer: Layer | None) -> list[Verdict]:
        """The verdicts of one layer, or (None) of the preset, those that are in the prompt first."""
        return sorted((v for v in self if v.layer is layer), key=lambda v: not v.included)

    def find(self, name: str) -> list[Verdict]:
        """The verdicts of a name: equal to it, else containing it, else of fragments whose text contains it."""
        wanted = name.casefold()
        exact = [v for v in self if wanted in (v.source.casefold(), v.title.casefold())]
        alike = exact or [v for v in self if wanted in v.source.casefold() or wanted in v.title.casefold()]
        return alike or [v for v in self if wanted and wanted in v.text.casefold()]

    def _make_verdict(self, fragment: Fragment, reason: Reason, tokens: int, detail: str) -> Verdict:
        if reason in INCLUDED_REASONS and id(fragment) in self._not_revealed:
            reason = Reason.NOT_REVEALED
        if not detail:
            is_overridden = fragment.prefitted and reason in _FORCED
            detail = BOOK_OVERRIDDEN if is_overridden else str(fragment.explanation)
        return Verdict(
            fragment.source, fragment.title, fragment.layer, reason, tokens, fragment.score, detail, fragment.text
        )
