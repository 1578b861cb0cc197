"""Types of modes: a turn as a mode sees it, the step that it answers with, and its context policy (cht-4).

A mode decides who answers a message. It is a small class with pure functions: each gets a `Turn` and returns a `Step`,
and changes nothing itself. The chat service stores what a step says, asks its speakers and calls the mode again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Annotated, Any

from msgspec import Meta, Struct

from fabula.conversation.mentions import find_mentions
from fabula.conversation.model import Message
from fabula.conversation.participants import Participant, strip_revision
from fabula.core.messages import Sentence
from fabula.core.view import Language

AtLeastOne = Annotated[int, Meta(ge=1)]


class ContextPolicy(Struct, frozen=True, kw_only=True):
    """How much of a conversation the prompts of a mode show, and from when on older history is summarised."""

    recipe: str = ""  # empty: that of the chat skill
    history_messages: AtLeastOne | None = None  # None: as many as the recipe allows
    history_tokens: AtLeastOne | None = None
    summary_messages: AtLeastOne = 60  # beyond either, older history is summarised
    summary_tokens: AtLeastOne = 6000


class Announcement(Struct, frozen=True, kw_only=True):
    """What a mode tells the participants; with an audience, these alone.

    One that `is_state` tells what `describe_state` tells every speaker: people read it, and prompts leave it out.
    """

    text: str
    is_state: bool = False
    audience: tuple[str, ...] | None = None


class Step(Struct, frozen=True, kw_only=True):
    """Who speaks next, on which history, and what is told and remembered before; nobody: the turn is over."""

    speakers: tuple[str, ...] = ()
    in_parallel: bool = True  # all on the history from before the step; else each hears the one before
    audience: tuple[str, ...] | None = None  # who hears the replies; None: everybody, or those of a whisper
    announcements: tuple[Announcement, ...] = ()
    is_move: bool = False  # what was said is a move of the game, and no other conversation is told of it
    state: Mapping[str, Any] | None = None  # the new state of the mode; None: unchanged


class ModeStart(Struct, frozen=True, kw_only=True):
    """How a mode begins: its first state, and what is told before anybody speaks."""

    state: Mapping[str, Any] = {}
    announcements: tuple[Announcement, ...] = ()


class Turn(Struct, frozen=True, kw_only=True):
    """What a mode may know when it decides: what was said, who can answer, and its own state."""

    conversation_id: str
    language: Language
    state: Mapping[str, Any]
    participants: tuple[Participant, ...]  # who is present and can answer: neither players nor who speaks
    number: int  # of the next message, for what is drawn by chance
    message: Message | None = None  # what was said; None where a mode begins, or nobody said anything new
    text: str = ""  # the same without the signs of mentions
    mentioned: tuple[str, ...] = ()  # participants who can answer and whom the message names, in order
    replies: tuple[Message, ...] = ()  # to the last step
    names: Mapping[str, tuple[str, ...]] = {}  # the name and aliases of everybody present, by id
    roles: Mapping[str, str] = {}  # participants by role, where a mode begins with some
    talkativeness: Mapping[str, float] = {}  # how often somebody speaks unasked, from 0 to 1, where a card says it
    settings: Mapping[str, Any] = {}
    list_heard: Callable[[str], Sequence[Message]] = lambda _: ()  # the whole history as a participant heard it

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of those who can answer."""
        return tuple(one.id for one in self.participants)

    @property
    def random(self) -> Random:
        """A source of chance that gives the same for the same message."""
        return Random(f"{self.conversation_id}:{self.number}")

    def name_of(self, participant_id: str) -> str:
        """Return the name of somebody who is present; else the key of the id."""
        ident = strip_revision(participant_id)
        return next(iter(self.names.get(ident, ())), "") or ident.partition(":")[2]

    def find_mentioned(self, said: Message) -> tuple[str, ...]:
        """Return whom a message names of those who can answer, in order, without its own speaker."""
        speaker = strip_revision(said.speaker)
        found = find_mentions(said.content, self.names).participants
        return tuple(one for one in found if one in self.ids and one != speaker)


class Mode:
    """A mode of conversation. The mentioned answer, else all, in parallel on the same history; override what differs.

    A mode keeps nothing in itself: what it must remember is the `state` of a step, which is stored with the
    conversation as JSON.
    """

    policy = ContextPolicy()
    roles: tuple[str, ...] = ()  # that somebody can be given when the mode begins; any other is refused
    options: tuple[str, ...] = ()  # of the state, that a person can set by a word beside the roles

    def start(self, turn: Turn) -> ModeStart:
        """Begin the mode in a conversation."""
        return ModeStart()

    def route(self, turn: Turn) -> Step:
        """Decide who answers what was said."""
        return Step(speakers=turn.mentioned or turn.ids)

    def proceed(self, turn: Turn) -> Step:
        """Decide what follows when all speakers of the last step have answered (`turn.replies`)."""
        return Step()

    def explain_state(self, turn: Turn, reader: str) -> tuple[Sentence, ...]:
        """Return what a person reads of the state, a line each; `reader` is whom they speak as, empty for all of it."""
        return ()

    def is_player(self, turn: Turn, participant_id: str) -> bool:
        """Return whether somebody plays, and reads only the own part of the state also where nobody else is named."""
        return False

    def describe_state(self, turn: Turn, speaker: str) -> str:
        """Return what a speaker is told of the state in the prompt, beside the history; this speaker alone reads it."""
        return ""
