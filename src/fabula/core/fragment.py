"""The fragment: a piece of text that may enter the prompt, with its source and its limits (ctx-5).

Codex entries, constraints, memories, passages, messages: every source turns its material into
fragments, and the engine treats all of them alike. A fragment validates itself when it is made
(`CONTEXT_FRAGMENT_INVALID`), so an invalid one counts as a failure of its source alone.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from itertools import compress
from math import inf
from operator import not_
from typing import Any, Literal

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.core.story import Position

Role = Literal["system", "user", "assistant"]

_NUMBERS = (int, float)


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


_TIERS = frozenset(Tier)


class Placement(Struct, frozen=True, gc=False):
    """Where an injected message goes: at a depth of the history, or beside an anchor."""

    depth: int | None = None
    anchor: str | None = None
    side: Literal["before", "after"] = "after"
    order: int = 100


class EarlierMessage(Struct, frozen=True, gc=False):
    """Where a message was said that the history does not show, as the prompt heads it, and its place there."""

    heading: str  # the conversation and the day; messages with the same one stand below it together
    at: str = ""  # when it was said
    number: int = 0
    follows: int = -1  # the number of the message before it; -1 where that is not known


class Visibility(Struct, frozen=True, gc=False):
    """From when until when something holds in the story, and who may know it.

    A character listed in `learned_at` knows it only from that position on.
    """

    source: str
    since: Position | None = None
    until: Position | None = None
    known_to: frozenset[str] | None = None
    learned_at: tuple[tuple[str, Position], ...] = ()
    document: str = ""  # whoever does not know this document does not know it either


class Fragment(Struct, frozen=True, kw_only=True, gc=False):
    """A piece of text that may enter the prompt, with everything that decides whether it does.

    The source is its identity, and must be unique: of retrieved fragments with one source, the best is used.
    """

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
    made_of: frozenset[str] = frozenset()  # the documents whose text it tells, word for word or in short
    token_count: int | None = None
    explanation: Sentence | str = ""  # for the trace: why the source offers it
    is_single_use: bool = False  # made for one request and never offered again: measuring it is not worth a cache
    prefitted: bool = False  # its source has a budget of its own; the trace says so when ours overrides it
    is_own_message: bool = False  # of the history: never merged with its neighbours, and sent under its source
    conversation_id: str = ""  # of what another conversation says, word for word or in short
    earlier: EarlierMessage | None = None  # of a message that the history does not show

    def __post_init__(self) -> None:
        field = find_flaw(self)
        if field:
            raise FabulaError(
                Code.FRAGMENT_INVALID,
                message(
                    "The fragment {source!r} has no valid {field}. Nothing of its source is used.",
                    source=self.source,
                    field=field,
                ),
                source=self.source,
            )

    @property
    def is_unrestricted(self) -> bool:
        """Whether it holds everywhere in the story and everybody may know it."""
        has_limits = self.since is not None or self.until is not None or self.known_to is not None
        return not (has_limits or self.derived_from or self.made_of)

    @property
    def visibilities(self) -> tuple[Visibility, ...]:
        """Its own limits and those of everything it was derived from; text derived from it inherits them all."""
        return (Visibility(self.source, self.since, self.until, self.known_to), *self.derived_from)

    @property
    def display_name(self) -> str:
        """The title, or the source where it has none."""
        return self.title or self.source


def find_flaw(fragment: Any) -> str | None:
    """The name of the first field that is invalid; None when all are valid."""
    score, count, known_to = fragment.score, fragment.token_count, fragment.known_to
    validity = (  # in the order of the fields
        fragment.source and isinstance(fragment.source, str),
        isinstance(fragment.layer, Layer),
        isinstance(fragment.text, str) and is_encodable(fragment.text),
        fragment.project_id and isinstance(fragment.project_id, str),
        isinstance(fragment.title, str),
        isinstance(fragment.part, Part),
        isinstance(fragment.tier, int) and fragment.tier in _TIERS,
        isinstance(score, _NUMBERS) and type(score) is not bool and 0 <= score < inf,
        fragment.role is None or fragment.role in ("system", "user", "assistant"),
        fragment.placement is None or _is_valid_placement(fragment),
        fragment.since is None or _is_position(fragment.since),
        fragment.until is None or _is_position(fragment.until),
        known_to is None or (isinstance(known_to, frozenset) and all(isinstance(knower, str) for knower in known_to)),
        isinstance(fragment.derived_from, tuple) and all(isinstance(one, Visibility) for one in fragment.derived_from),
        count is None or (isinstance(count, int) and count >= 0),
    )
    return None if all(validity) else next(compress(fragment.__struct_fields__, map(not_, validity)))


def _is_position(value: Any) -> bool:
    return isinstance(value, Position) and isinstance(value.document, str) and isinstance(value.offset, int)


def _is_valid_placement(fragment: Any) -> bool:
    """Only settings and retrieved fragments have a placement of their own; depths count from 0."""
    placement = fragment.placement
    return (
        isinstance(placement, Placement)
        and fragment.layer in (Layer.SETTINGS, Layer.RETRIEVED)
        and (placement.depth is None or (isinstance(placement.depth, int) and placement.depth >= 0))
        and isinstance(placement.anchor, str | None)
        and placement.side in ("before", "after")
        and isinstance(placement.order, int)
    )


def is_encodable(text: str) -> bool:
    """Whether a text holds no lone surrogate, so that it can be encoded and sent."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
