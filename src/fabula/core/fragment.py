"""The fragment: the one currency of the house.

A codex entry, a constraint, a memory, a passage, a message: all become fragments before the
engine sees them, and all are treated alike. A fragment checks itself when it is made, so a
malformed one is the mistake of the source that made it and of nobody else.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from math import inf, isfinite
from typing import Any, Literal, Protocol

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position

Role = Literal["system", "user", "assistant"]


class Layer(StrEnum):
    """The four layers, always in this order."""

    RULES = "rules"
    SETTINGS = "settings"
    RETRIEVED = "retrieved"
    IMMEDIATE = "immediate"


LAYERS = tuple(Layer)


class Part(StrEnum):
    """What a fragment is inside its layer, where that decides how it is shown or cut."""

    PLAIN = "plain"
    CONSTRAINT = "constraint"  # rules: numbered in one block
    SCENE = "scene"  # immediate: stands before the window, never cut
    WINDOW = "window"  # immediate: text before the cursor, gives way at its front
    MARK = "mark"  # immediate: right behind the window (where the cursor stands), never cut
    AFTER = "after"  # immediate: text after the cursor, gives way at its end
    DESK = "desk"  # immediate: offered editor state and working memory
    HISTORY = "history"  # immediate: one message of the conversation
    CLOSING = "closing"  # immediate: role, instruction and input, last and never cut


class Tier(IntEnum):
    """Which rules go first when rules outgrow their line; what a user made never goes."""

    ENTRY = 0
    GRAPH = 1
    LEARNED = 2
    PROJECT = 3
    FIXED = 4
    USER = 5


class Placement(Struct, frozen=True, gc=False):
    """Where an injected message goes: by depth in the history, or beside an anchor."""

    depth: int | None = None
    anchor: str | None = None
    side: Literal["before", "after"] = "after"
    order: int = 100


class Terms(Struct, frozen=True, gc=False):
    """When something holds and who may know it; whoever is among `learnt` knows it only from there on."""

    source: str
    since: Position | None = None
    until: Position | None = None
    known_to: frozenset[str] | None = None
    learnt: tuple[tuple[str, Position], ...] = ()


class Because(Protocol):
    """A reason that is put into words only when somebody reads it."""

    def __str__(self) -> str: ...


class Fragment(Struct, frozen=True, kw_only=True, gc=False):
    """A piece of text that may enter the prompt, with all that decides whether it does."""

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
    derived_from: tuple[Terms, ...] = ()
    token_count: int | None = None
    because: str | Because = ""  # what brought it here, where the trace should say so
    fitted: bool = False  # by rules of its own; where our budget forces it out, the trace says so

    def __post_init__(self) -> None:
        problem = flaw(self)
        if problem:
            raise FabulaError(
                Code.FRAGMENT_INVALID,
                f"The fragment {self.source!r} was refused: {problem}. Nothing of its source is used.",
                source=self.source,
            )

    @property
    def open(self) -> bool:
        """Does it hold always and for everybody?"""
        return self.since is None and self.until is None and self.known_to is None and not self.derived_from

    @property
    def terms(self) -> tuple[Terms, ...]:
        """Its own terms and those of all it was made from, for text derived from it."""
        return (Terms(self.source, self.since, self.until, self.known_to), *self.derived_from)

    @property
    def name(self) -> str:
        """What to call it before a person."""
        return self.title or self.source


def flaw(fragment: Any) -> str | None:
    """What is wrong with a fragment, in words; None when it is sound."""
    # Nearly every fragment is plain, and there are many: one look at all kinds together tells.
    kinds = (type(fragment.source), type(fragment.text), type(fragment.project_id), type(fragment.title))
    rest = (fragment.role, fragment.until, fragment.known_to, fragment.derived_from, fragment.placement)
    if (
        kinds == _TEXTS
        and rest == _USUAL
        and (type(fragment.layer), type(fragment.part), type(fragment.score)) == _PLAIN
        and 0.0 <= fragment.score < inf
        and fragment.source
        and fragment.project_id
        and type(fragment.tier) in _TIERS
        and Tier.ENTRY <= fragment.tier <= Tier.USER
        and fragment.token_count is None
        and (fragment.since is None or _sound(fragment.since))
        and whole(fragment.text)
    ):
        return None
    return _flaw(fragment)


def _sound(mark: Any) -> bool:
    return type(mark) is Position and type(mark.document) is str and type(mark.offset) is int


def _flaw(fragment: Any) -> str | None:
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
    return _odd(fragment) or (None if whole(fragment.text) else "its text holds half a character (a lone surrogate)")


def _odd(fragment: Any) -> str | None:
    """A field of the wrong kind."""
    if not isinstance(fragment.title, str):
        return "its title is not a text"
    if type(fragment.part) is not Part:
        return f"{fragment.part!r} is not a part of a layer"
    if not isinstance(fragment.tier, int) or not Tier.ENTRY <= fragment.tier <= Tier.USER:
        return f"{fragment.tier!r} is not a tier"
    if fragment.role is not None and fragment.role not in ("system", "user", "assistant"):
        return f"{fragment.role!r} is not a role"
    for mark in (fragment.since, fragment.until):
        if mark is not None and not (
            isinstance(mark, Position) and isinstance(mark.document, str) and isinstance(mark.offset, int)
        ):
            return f"{mark!r} is not a position in the story"
    known_to = fragment.known_to
    if known_to is not None and not (isinstance(known_to, frozenset) and all(isinstance(k, str) for k in known_to)):
        return "`known_to` is not a frozenset of ids"
    if not isinstance(fragment.derived_from, tuple) or not all(isinstance(t, Terms) for t in fragment.derived_from):
        return "`derived_from` is not a tuple of terms"
    return None if fragment.placement is None else _misplaced(fragment)


def _misplaced(fragment: Any) -> str | None:
    wish = fragment.placement
    if not isinstance(wish, Placement) or fragment.layer not in (Layer.SETTINGS, Layer.RETRIEVED):
        return "only settings and retrieved things can have a placement of their own"
    sound = wish.depth is None or (isinstance(wish.depth, int) and wish.depth >= 0)
    sound = sound and (wish.anchor is None or isinstance(wish.anchor, str))
    if not sound or wish.side not in ("before", "after") or not isinstance(wish.order, int):
        return "its placement makes no sense: depths count from 0, sides are before and after, orders are whole numbers"
    return None


_TEXTS = (str, str, str, str)
_PLAIN = (Layer, Part, float)
_TIERS = (Tier, int)
_USUAL = (None, None, None, (), None)


def whole(text: str) -> bool:
    """Does the text hold no half of a surrogate pair, so that it can be sent at all?"""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
