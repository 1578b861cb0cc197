"""Trace: why each fragment is in the prompt or left out (ctx-9).

Every fragment that was offered gets a verdict, also those left out, because a writer's first
question is "why does it not know that?". A dry run adds what sources did not offer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.messages import Sentence, message
from fabula.text.lookup import fold_name
from fabula.text.truncation import shorten_to_line


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
    SAME_SOURCE = "SAME_SOURCE"
    EMPTY = "EMPTY"
    TOO_LARGE = "TOO_LARGE"
    PASSED_OVER = "PASSED_OVER"
    NO_ROOM = "NO_ROOM"
    LOWER_RANK = "LOWER_RANK"
    HEADROOM = "HEADROOM"
    CHUNK_LIMIT = "CHUNK_LIMIT"
    HISTORY_CAP = "HISTORY_CAP"
    INJECTION_CAP = "INJECTION_CAP"
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


EXPLANATIONS = {
    Reason.KEPT: message("it belongs into this prompt"),
    Reason.LATE: message("it first came up in this request, so it stands after the text until the window moves"),
    Reason.SHORTENED: message("the part furthest from the cursor was left out"),
    Reason.NOT_REVEALED: message("the author may know it; the prompt marks it as not to be revealed yet"),
    Reason.NOT_YET: message("the story has not come to it yet"),
    Reason.NO_LONGER: message("it no longer holds at this point of the story"),
    Reason.NOT_KNOWN: message("the character or reader whose point of view this is does not know it"),
    Reason.EXCLUDED: message("it was excluded by hand"),
    Reason.DUPLICATE: message("the same text is already in the prompt"),
    Reason.SAME_SOURCE: message("another fragment with the same source is in the prompt"),
    Reason.EMPTY: message("it has no text"),
    Reason.TOO_LARGE: message("it is larger than all the space beside the rules and the instruction"),
    Reason.PASSED_OVER: message("it is larger than the space that was left; smaller ones ranked after it fitted"),
    Reason.NO_ROOM: message("more important texts used up the space"),
    Reason.LOWER_RANK: message("something that ranks above it did not fit, so it is left out too"),
    Reason.HEADROOM: message(
        "room is kept free for the text to grow, so that the beginning of the prompt stays the same"
    ),
    Reason.CHUNK_LIMIT: message("more was found than a prompt is chosen from; better matches were kept"),
    Reason.INJECTION_CAP: message(
        "fixed prompts, biography, recaps and earlier messages have more characters together than a chat is told"
    ),
    Reason.HISTORY_CAP: message("it is older than the part of the conversation that the prompt shows"),
    Reason.WINDOW_STEP: message(
        "it was left out when the conversation window last moved, so that the beginning of the prompt stays the same"
    ),
    Reason.RULES_OVERBUDGET: message("the rules exceed their limit; more important or more relevant ones were kept"),
    Reason.CONDITION_UNMET: message("its condition does not hold here"),
    Reason.ANCHOR_MISSING: message("its anchor is missing, so it stands where it is listed"),
    Reason.NOT_DETECTED: message("its name does not occur near the cursor, in the instruction or in the conversation"),
    Reason.PINNED_OUT: message("a pin keeps it out of this document or conversation"),
    Reason.LEVEL_MANUAL: message("it enters only when you include it by hand"),
    Reason.LEVEL_NEVER: message("its level says that it is never sent"),
    Reason.NOT_CHOSEN: message("other material matched better"),
    Reason.BOOK_RULES: message("the rules of its lorebook left it out"),
}
# Why a fragment is in the prompt, where its source does not say: what it is there.
PURPOSES: dict[Layer | Part, Sentence] = {
    Layer.RULES: message("it is a rule of the project"),
    Layer.SETTINGS: message("it is a preference or a matter of style"),
    Layer.IMMEDIATE: message("it belongs to the scene"),
    Part.CONSTRAINT: message("it is one of the constraints"),
    Part.WINDOW: message("it is the text before the cursor"),
    Part.CURSOR: message("it stands at the cursor"),
    Part.AFTER: message("it is the text after the cursor"),
    Part.EDITOR_STATE: message("it is what you worked on lately"),
    Part.HISTORY: message("it is a message of the conversation"),
    Part.INSTRUCTION: message("it is the instruction"),
}

_RETRIEVED = {  # by the kind of a source
    "synopsis": message("it tells what happened in an earlier chapter"),
    "biography": message("it is the biography of the character who speaks"),
    "pinned": message("it is pinned, and the conversation window does not show it any more"),
    "history": message("it was said before, and the conversation window does not show it any more"),
    "recap": message("it tells what was said earlier in the conversation"),
    "rollup": message("it sums up earlier chapters"),
    "memory": message("it is earlier work with words of the text nearby"),
    "talk": message("it is what you talked about lately"),
}

INCLUDED_REASONS = frozenset({Reason.KEPT, Reason.LATE, Reason.SHORTENED, Reason.NOT_REVEALED, Reason.ANCHOR_MISSING})
GATE_REASONS = frozenset({Reason.NOT_YET, Reason.NO_LONGER, Reason.NOT_KNOWN, Reason.NOT_REVEALED})
_PART = re.compile(r" ?\([^()]*\)$")  # of a card, in its title
_FORCED = frozenset({Reason.TOO_LARGE, Reason.PASSED_OVER, Reason.NO_ROOM, Reason.HEADROOM, Reason.CHUNK_LIMIT})
_LABEL_LENGTH = 60  # characters
_NAME_CHARACTERS = 40  # of a text that has no title
NOT_FOR_CHARACTERS = message("it says how you write, and a character speaks here")
BOOK_OVERRIDDEN = message("the rules of its lorebook let it in, and the token budget left it out")


class Verdict(Struct, frozen=True):
    """What became of one fragment."""

    source: str
    title: str
    layer: Layer | None  # None: a message of the preset
    reason: Reason
    tokens: int
    score: float
    detail: Sentence | str = ""  # why its source offers it, or what else there is to say
    text: str = ""
    part: Part = Part.PLAIN
    cause: Sentence | None = None  # the reason in this case, where more is known than `EXPLANATIONS` says

    @property
    def label(self) -> str:
        """The name it is shown with: its title or its first words, and its number if it is one of several."""
        name = shorten_to_line(self.title or self.text[:200], _LABEL_LENGTH) or self.source
        number = self.source.partition("#")[2]
        has_number = self.title and len(number) < 4 and number.isdecimal()  # passages have long ids there
        return f"{name} #{number}" if has_number else name

    @property
    def included(self) -> bool:
        """Whether it is in the prompt, all of it or a part."""
        return self.reason in INCLUDED_REASONS

    @property
    def message(self) -> Sentence:
        """The reason for a person, in any language."""
        sentence = self.cause or EXPLANATIONS[self.reason]
        if self.reason is Reason.KEPT:
            purpose = PURPOSES.get(self.part) or PURPOSES.get(self.layer or self.part, sentence)
            if self.layer is Layer.RETRIEVED:
                purpose = _RETRIEVED.get(
                    self.source.partition(":")[0],
                    message("it was offered for this place, with a score of {score:.2f}", score=self.score),
                )
            return message("{detail}", detail=self.detail) if self.detail else purpose
        return message("{sentence} ({detail})", sentence=sentence, detail=self.detail) if self.detail else sentence

    @property
    def sentence(self) -> str:
        """The reason in English."""
        return str(self.message)


def omit_for_speaker(fragment: Fragment, cause: Sentence = NOT_FOR_CHARACTERS) -> Verdict:
    """Return the verdict on a text of the writer's that whoever speaks is not told."""
    return Verdict(
        fragment.source,
        fragment.title,
        fragment.layer,
        Reason.NOT_CHOSEN,
        0,
        fragment.score,
        text=fragment.text,
        part=fragment.part,
        cause=cause,
    )


def name_fragment(fragment: Fragment) -> str:
    """A fragment by its title, else by its first words."""
    return fragment.title or shorten_to_line(fragment.text, _NAME_CHARACTERS) or fragment.source


class OutcomeExplanation(Protocol):
    """Says more of a reason than the reason alone, when somebody reads the trace."""

    def explain(self, fragment: Fragment, reason: Reason, /) -> Sentence | None: ...


FragmentOutcome = tuple[Fragment, Reason, int, Sentence | str | OutcomeExplanation]  # fragment, reason, tokens, detail


def _owners(source: str) -> tuple[str, str, str]:
    """A source, the owner of a numbered one, and the owner's id."""
    owner = source.partition("#")[0]
    return source, owner, owner.rpartition(":")[2]


def _name_owner(source: str, title: str) -> str:
    """Whose card or persona a folded title names: without the part that it says; the title, of anything else."""
    return _PART.sub("", title) if source.startswith(("card:", "persona:")) else title


def _is_called(verdict: Verdict, wanted: str) -> bool:
    """Whether a folded name is that of a verdict, or of whose part it is; a label that was cut is one too."""
    label = fold_name(verdict.label)
    title = fold_name(verdict.title)
    if wanted in (fold_name(verdict.source), title, label) or _name_owner(verdict.source, title) == wanted:
        return True
    return len(wanted) > 1 and wanted.endswith("…") and label.startswith(wanted[:-1])


class IncludedFragment(Protocol):
    """A fragment that is in the prompt, and its tokens."""

    @property
    def fragment(self) -> Fragment: ...
    @property
    def tokens(self) -> int: ...


class Trace:
    """The verdicts of one assembly. They are made when somebody reads them."""

    __slots__ = ("_explain", "_included", "_more", "_not_revealed", "_outcomes", "_purposes", "_verdicts")

    def __init__(
        self,
        outcomes: Sequence[FragmentOutcome],
        included: Sequence[Sequence[IncludedFragment]] = (),
        not_revealed: Set[int] = frozenset(),
        more: Callable[[], Iterable[Verdict]] = tuple,
        explain: Callable[[Fragment, Reason], Sentence | None] | None = None,
        purposes: Callable[[], Mapping[str, Sentence]] = dict,
    ) -> None:
        """A trace that puts reasons into words when somebody reads it.

        `more` makes the verdicts of what is no fragment: preset messages, and what was never offered. `explain` says
        more of a reason of the gate. `purposes` says, by source, why fragments were offered.
        """
        self._outcomes = outcomes
        self._included = included
        self._not_revealed = not_revealed
        self._more = more
        self._explain = explain
        self._purposes = purposes
        self._verdicts: list[Verdict] | None = None

    def without_omitted(self) -> Trace:
        """The trace of what is in the prompt, for somebody who may not know what was left out."""
        return Trace((), self._included, self._not_revealed, purposes=self._purposes)

    def __iter__(self) -> Iterator[Verdict]:
        if self._verdicts is None:
            purposes = self._purposes()
            included = [
                self._make_verdict(piece.fragment, Reason.KEPT, piece.tokens, "", purposes)
                for pieces in self._included
                for piece in pieces
            ]
            others = [self._make_verdict(*outcome, purposes) for outcome in self._outcomes]
            self._verdicts = [*included, *others, *self._more()]
            self._outcomes, self._included, self._more = (), (), tuple
            self._explain, self._purposes = None, dict
        return iter(self._verdicts)

    def layer_verdicts(self, layer: Layer | None) -> list[Verdict]:
        """The verdicts of one layer, or (None) of the preset, those that are in the prompt first."""
        return sorted((v for v in self if v.layer is layer), key=lambda v: not v.included)

    def find(self, name: str, sources: Set[str] = frozenset()) -> list[Verdict]:
        """The verdicts of a name: of the given sources or owners, then those whose title, source or label is so.

        Where there are none, those whose title or source contains the name; else those whose text does.
        """
        wanted = fold_name(name)
        first = [v for v in self if not sources.isdisjoint(_owners(v.source))]
        first.sort(key=lambda v: v.source not in sources)  # an entry stands before what becomes of it
        chosen = {id(v) for v in first}
        exact = [v for v in self if _is_called(v, wanted) and id(v) not in chosen]
        alike = [*first, *exact] or [v for v in self if wanted in fold_name(v.source) or wanted in fold_name(v.title)]
        return alike or [v for v in self if wanted and wanted in fold_name(v.text)]

    def _make_verdict(
        self,
        fragment: Fragment,
        reason: Reason,
        tokens: int,
        detail: Sentence | str | OutcomeExplanation,
        purposes: Mapping[str, Sentence],
    ) -> Verdict:
        if reason in INCLUDED_REASONS and id(fragment) in self._not_revealed:
            reason = Reason.NOT_REVEALED
        cause = None
        if not isinstance(detail, Sentence | str):
            cause, detail = detail.explain(fragment, reason), ""
        elif reason in GATE_REASONS and self._explain is not None:
            cause = self._explain(fragment, reason)
        if not detail:
            explanation = fragment.explanation
            if not explanation and reason in INCLUDED_REASONS:
                explanation = purposes.get(fragment.source, "")
            detail = explanation if isinstance(explanation, Sentence) else str(explanation)
            if fragment.prefitted and reason in _FORCED:
                detail = BOOK_OVERRIDDEN
        return Verdict(
            fragment.source,
            fragment.title,
            fragment.layer,
            reason,
            tokens,
            fragment.score,
            detail,
            fragment.text,
            fragment.part,
            cause,
        )
