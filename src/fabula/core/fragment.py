"""The fragment: a piece of text that may enter the prompt, with its source and its limits (ctx-5).

Codex entries, constraints, memories, passages, messages: every source turns its material into
fragments, and the engine treats all of them alike. A fragment validates itself when it is made
(`CONTEXT_FRAGMENT_INVALID`), so an invalid one counts as a failure of its source alone.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from math import isfinite
from typing import Any, Literal, Protocol

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position

Role = Literal["system", "user", "assistant"]


class Layer(StrEnum):
    """The four layers of a prompt, in their fixed order (ctx-1)."""

    RULES = "rules"
    SETTINGS = "settings"
    RETRIEVED = "retrieved"
    IMMEDIATE = "immediate"


LAYERS = tuple(Layer)


class Part(StrEnum):
    """What a fragment is inside its layer, where that decides how it is rendered or trimmed."""

    PLAIN = "plain"
    CONSTRAINT = "constraint"  # rules: a line of the numbered list
    SCENE = "scene"  # immediate: before the text window, never trimmed
    WINDOW = "window"  # immediate: the text before the cursor, trimmed from its beginning
    CURSOR = "cursor"  # immediate: right behind the text window, where the cursor is; never trimmed
    AFTER = "after"  # immediate: the text after the cursor, trimmed from its end
    EDITOR_STATE = "editor_state"  # immediate: editor state and working memory, possibly irrelevant
    HISTORY = "history"  # immediate: one message of the conversation
    INSTRUCTION = "instruction"  # immediate: role, instruction and input; last, never trimmed


class Tier(IntEnum):
    """The order in which rules are dropped when they exceed their limit; what the user wrote is never dropped."""

    ENTRY = 0
    GRAPH = 1
    LEARNED = 2
    PROJECT = 3
    FIXED = 4
    USER = 5


class Placement(Struct, frozen=True, gc=False):
    """Where an injected message goes: at a depth of the history, or beside an anchor."""

    depth: int | None = None
    anchor: str | None = None
    side: Literal["before", "after"] = "after"
    order: int = 100


class Visibility(Struct, frozen=True, gc=False):
    """From when until when something holds in the story, and who may know it.

    A character listed in `learned_at` knows it only from that position on.
    """

    source: str
    since: Position | None = None
    until: Position | None = None
    known_to: frozenset[str] | None = None
    learned_at: tuple[tuple[str, Position], ...] = ()


class LazyText(Protocol):
    """A text that is composed only when it is read."""

    def __str__(self) -> str: ...


class Fragment(Struct, frozen=True, kw_only=True, gc=False):
    """A piece of text that may enter the prompt, with everything that decides whether it does."""

    source: str
    layer: Layer
    text: str
    project_id: str
    title: str = ""
    part: Part = Part.PLAIN
    tier: int = Tier.PROJECT
    score: float = 0.5
    role: Role | None = None
    placement: Placement | None = None
    since: Position | None = None
    until: Position | None = None
    known_to: frozenset[str] | None = None
    derived_from: tuple[Visibility, ...] = ()
    token_count: int | None = None
    explanation: str | LazyText = ""  # for the trace: why the source offers it
    prefitted: bool = False  # its source has a budget of its own; the trace says so when ours overrides it

    def __post_init__(self) -> None:
        problem = find_flaw(self)
        if problem:
            raise FabulaError(
                Code.FRAGMENT_INVALID,
                f"The fragment {self.source!r} was refused: {problem}. Nothing of its source is used.",
                source=self.source,
            )

    @property
    def is_unrestricted(self) -> bool:
        """Whether it holds everywhere in the story and everybody may know it."""
        return self.since is None and self.until is None and self.known_to is None and not self.derived_from

    @property
    def visibilities(self) -> tuple[Visibility, ...]:
        """Its own limits and those of everything it was derived from; text derived from it inherits them all."""
        return (Visibility(self.source, self.since, self.until, self.known_to), *self.derived_from)

    @property
    def display_name(self) -> str:
        """The title, or the source where it has none."""
        return self.title or self.source


def find_flaw(fragment: Any) -> str | None:
    """Describe what is invalid about a fragment; None when it is valid."""
    if not isinstance(fragment.source, str) or not fragment.source:
        return "it does not say where it comes from"
    if not isinstance(fragment.text, str):
        return f"its text is {type(fragment.text).__name__}, not text"
    if not isinstance(fragment.project_id, str) or not fragment.project_id:
        return "it does not say which project it belongs to"
    if not isinstance(fragment.layer, Layer):
        return f"{fragment.layer!r} is not a layer"
    score = fragment.score
    if isinstance(score, bool) or not isinstance(score, int | float) or not isfinite(score) or score < 0:
        return f"its score is {score!r}; scores are finite and not negative"
    count = fragment.token_count
    if count is not None and (not isinstance(count, int) or count < 0):
        return f"its token count is {count!r}"
    if not is_encodable(fragment.text):
        return "its text holds half a character (a lone surrogate)"
    return _find_type_flaw(fragment)


def _find_type_flaw(fragment: Any) -> str | None:
    if not isinstance(fragment.title, str):
        return "its title is not a text"
    if type(fragment.part) is not Part:
        return f"{fragment.part!r} is not a part of a layer"
    if not isinstance(fragment.tier, int) or not Tier.ENTRY <= fragment.tier <= Tier.USER:
        return f"{fragment.tier!r} is not a tier"
    if fragment.role is not None and fragment.role not in ("system", "user", "assistant"):
        return f"{fragment.role!r} is not a role"
    for position in (fragment.since, fragment.until):
        if position is not None and not _is_position(position):
            return f"{position!r} is not a position in the story"
    known_to = fragment.known_to
    if known_to is not None and not (isinstance(known_to, frozenset) and all(isinstance(k, str) for k in known_to)):
        return "`known_to` is not a frozenset of ids"
    derived_from = fragment.derived_from
    if not isinstance(derived_from, tuple) or not all(isinstance(one, Visibility) for one in derived_from):
        return "`derived_from` is not a tuple of visibilities"
    return None if fragment.placement is None else _find_placement_flaw(fragment)


def _is_position(value: Any) -> bool:
    return isinstance(value, Position) and isinstance(value.document, str) and isinstance(value.offset, int)


def _find_placement_flaw(fragment: Any) -> str | None:
    placement = fragment.placement
    if not isinstance(placement, Placement) or fragment.layer not in (Layer.SETTINGS, Layer.RETRIEVED):
        return "only settings and retrieved things can have a placement of their own"
    depth, anchor = placement.depth, placement.anchor
    valid = depth is None or (isinstance(depth, int) and depth >= 0)
    valid = valid and (anchor is None or isinstance(anchor, str))
    if not valid or placement.side not in ("before", "after") or not isinstance(placement.order, int):
        return "its placement makes no sense: depths count from 0, sides are before and after, orders are whole numbers"
    return None


def is_encodable(text: str) -> bool:
    """Whether a text holds no lone surrogate, so that it can be encoded and sent."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
