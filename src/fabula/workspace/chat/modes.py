"""Modes in a chat: begin one, describe the turn for it, and check what it decides (cht-4).

A mode is code of somebody else. It is called within a transaction and changes nothing itself; whatever it raises
becomes a refusal with a code.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from fabula.conversation import edits
from fabula.conversation.cards import Cards
from fabula.conversation.mentions import find_mentions
from fabula.conversation.model import RESERVED_KEYS, Message
from fabula.conversation.modes import Mode, Step, Turn, find_mode_name, load_mode
from fabula.conversation.modes.registry import check_mode
from fabula.conversation.participants import strip_revision
from fabula.conversation.snapshot import load_newest_messages
from fabula.core.errors import Code, FabulaError, describe_place
from fabula.core.messages import Sentence, join_names, message
from fabula.core.view import View
from fabula.settings.values import read_values
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.workspace.chat.mentions import list_called_names
from fabula.workspace.chat.rounds import (
    ChatState,
    announce,
    begin_mode,
    load_replies,
    store_state,
)
from fabula.workspace.names import find_participant

log = logging.getLogger("fabula.chat")

MODE_SETTINGS = ("Modes.WorkflowMaxRounds",)
ROLE_MAP = "role_map"  # in the state of a mode: who has which role
_ALL_MESSAGES = 1_000_000

Answer = TypeVar("Answer")


class ChatModes:
    """The modes that the conversations of one open project can have."""

    def __init__(self, own: Mapping[str, Mode] | None = None) -> None:
        self.own = dict(own or {})  # beside those of installed packages
        self._loaded: dict[str, Mode] = {}

    def add(self, name: str, mode: Mode) -> None:
        """Offer a mode beside those of installed packages; one with an invalid policy is refused."""
        self.own[name] = check_mode(name, mode)

    def find_name(self, name: str) -> str:
        """Return the name of the mode that a spelling means."""
        return find_mode_name(name, self.own)

    def load(self, name: str) -> Mode:
        """Return a mode by its name."""
        mode = self.own.get(name) or self._loaded.get(name)
        if mode is None:
            mode = self._loaded[name] = load_mode(name)
        return mode

    def enter(
        self, tx: WriteTransaction, view: View, chat: ChatState, mode: str, roles: Mapping[str, str]
    ) -> tuple[ChatState, list[Message]]:
        """Begin the mode of a conversation that has none yet; another one than it has is refused."""
        name = self.find_name(mode) if mode else chat.mode
        if chat.record.mode and name != chat.mode:
            raise FabulaError(
                Code.MODE_CHANGED,
                message(
                    "This conversation has the mode {mode!r}, and the message asks for {other!r}. "
                    "Change the mode first, or start another conversation. Nothing was changed.",
                    mode=chat.mode,
                    other=name,
                ),
            )
        self.load(name)
        if not chat.is_begun:
            return self.begin(tx, view, replace(chat, mode=name), roles)
        known = chat.state.get(ROLE_MAP, {})
        if roles and known and _find_roles(tx, view, chat, roles) != known:
            raise FabulaError(
                Code.MODE_CHANGED,
                message(
                    "The message gives other roles than this conversation has. "
                    "Change the mode with its roles first. Nothing was changed."
                ),
            )
        return self._note_policy(chat), []

    def _note_policy(self, chat: ChatState) -> ChatState:
        """Return a chat with the policy of a mode that only this process has, for those that make recaps."""
        mode, begun = self.own.get(chat.mode), chat.beginnings.get(chat.mode)
        if mode is None or begun is None or begun.policy == mode.policy:
            return chat
        return replace(chat, beginnings={**chat.beginnings, chat.mode: replace(begun, policy=mode.policy)})

    def begin(
        self, tx: WriteTransaction, view: View, chat: ChatState, roles: Mapping[str, str]
    ) -> tuple[ChatState, list[Message]]:
        """Let the mode of a conversation begin; return the state, and what the mode tells."""
        mode = self.load(chat.mode)
        if mode.roles:  # in other modes, roles only say who takes part in a new conversation (cht-1)
            self.check_roles(chat.mode, roles)
        turn = replace(make_turn(tx, view, chat), roles=_find_roles(tx, view, chat, roles))
        begun = call_mode(chat.mode, mode.start, turn)
        _check_state(chat.mode, begun.state)
        told = announce(tx, chat.record.id, begun.announcements)
        settings = tuple(name for name in (*mode.options, ROLE_MAP) if name in begun.state)
        changed = self._note_policy(begin_mode(tx, chat, begun.state, settings))
        store_state(tx, changed)
        return changed, told

    def split_options(self, name: str, words: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the roles among words of a person, and the options of the mode."""
        known = self.load(name).options
        roles = {word: value for word, value in words.items() if word not in known}
        return roles, {word: value for word, value in words.items() if word in known}

    def check_roles(self, name: str, roles: Mapping[str, str]) -> None:
        """Refuse roles that a mode does not have."""
        known = self.load(name).roles
        unknown = next((role for role in roles if role not in known), None)
        if unknown is None:
            return
        sentence = message("The mode {mode!r} has no roles to give. Nothing was changed.", mode=name)
        if not known and self.load(name).options:
            sentence = message(
                "The mode {mode!r} has no roles to give, and no option {role!r}. Its options: {options}. "
                "Nothing was changed.",
                mode=name,
                role=unknown,
                options=join_names(self.load(name).options),
            )
        if known:
            sentence = message(
                "The mode {mode!r} has no role {role!r}. Its roles: {roles}. Nothing was changed.",
                mode=name,
                role=unknown,
                roles=join_names(known),
            )
        raise FabulaError(Code.MODE_ROLES_INVALID, sentence)

    def decide(self, name: str, what: Literal["route", "proceed"], turn: Turn) -> Step:
        """Let a mode decide who speaks; what it returns is checked."""
        step: Step = call_mode(name, getattr(self.load(name), what), turn)
        if not isinstance(step, Step):
            raise explain_mode_failure(name, message("it returned something that is no step"))
        strangers = [one for one in step.speakers if one not in turn.names]
        if strangers:
            who = join_names(turn.name_of(one) for one in strangers)
            raise explain_mode_failure(name, message("it asks {names}, who is not present", names=who))
        if step.state is not None:
            _check_state(name, step.state)
        return step

    def explain_state(self, name: str, turn: Turn, reader: str, leader: str = "") -> tuple[Sentence, ...]:
        """Return what a mode tells a person of its state; a leader who plays is a reader like any other."""
        if leader and call_mode(name, self.load(name).is_player, turn, leader):
            reader = leader
        return call_mode(name, self.load(name).explain_state, turn, reader)

    def describe_state(self, name: str, turn: Turn, speaker: str) -> str:
        """Return what a mode tells a speaker of its state."""
        return call_mode(name, self.load(name).describe_state, turn, speaker)


def make_turn(
    reading: ReadTransaction,
    view: View,
    chat: ChatState,
    *,
    said: Message | None = None,
    replies: tuple[Message, ...] = (),
) -> Turn:
    """Describe a turn for a mode; only those who heard a whisper can answer it."""
    if said is None and chat.round.message_id and not chat.round.is_ended:
        said = next(iter(load_replies(reading, (chat.round.message_id,))), None)
    heard = chat.attendance.find_listeners(said) if said is not None and said.audience is not None else None
    answerers = chat.list_answerers(said.speaker if said is not None else "")
    answerers = tuple(one for one in answerers if heard is None or one.id in heard)
    names = list_called_names(view, chat)
    found = find_mentions(said.content, names) if said is not None else None
    ids = {one.id for one in answerers}
    values = read_values(reading, MODE_SETTINGS)
    cards = (view.snapshot(Cards) or Cards()).by_participant
    return Turn(
        conversation_id=chat.record.id,
        language=view.project.language,
        state=chat.state,
        participants=answerers,
        number=chat.record.message_count if said is None else said.number or 0,
        message=said,
        text=found.text if found is not None else "",
        mentioned=tuple(one for one in found.participants if one in ids) if found is not None else (),
        replies=replies,
        names=names,
        talkativeness={one.id: cards[one.id].talkativeness for one in answerers if one.id in cards},
        settings={name: values[name] for name in MODE_SETTINGS},
        list_heard=_HeardMessages(reading, chat).list,
    )


class _HeardMessages:
    """The history of a conversation as a mode may ask for it; it is loaded once in a turn, and only where one asks."""

    def __init__(self, reading: ReadTransaction, chat: ChatState) -> None:
        self._reading, self._chat = reading, chat

    @cached_property
    def _path(self) -> list[tuple[Message, frozenset[str] | None]]:
        ident, attendance = self._chat.record.id, self._chat.attendance
        leaf = edits.get_conversation(self._reading, ident).leaf_id
        path = load_newest_messages(self._reading, ident, leaf, _ALL_MESSAGES)
        return [(one, attendance.find_listeners(one)) for one in path if one.final]

    def list(self, participant_id: str) -> Sequence[Message]:
        """List the messages that a participant heard, oldest first."""
        who = strip_revision(participant_id)
        return [one for one, heard_by in self._path if heard_by is None or who in heard_by]


def call_mode(name: str, function: Callable[..., Answer], *args: object) -> Answer:
    """Call a function of a mode; whatever else than a refusal it raises becomes one."""
    try:
        return function(*args)
    except FabulaError:
        raise
    except Exception as error:
        log.error("the mode %s failed: %s", name, describe_place(error))
        raise explain_mode_failure(name, f"{type(error).__name__}: {error}") from error


def explain_mode_failure(name: str, why: Sentence | str) -> FabulaError:
    """Return the error for a mode that failed."""
    return FabulaError(
        Code.MODE_FAILED,
        message(
            "The mode {name!r} failed: {why}. What was said is stored. Choose another mode, or mend this one.",
            name=name,
            why=why,
        ),
    )


def _find_roles(tx: ReadTransaction, view: View, chat: ChatState, roles: Mapping[str, str]) -> dict[str, str]:
    """Return the participants of roles by id; each must be present, and a role without one is a hole."""
    found = {role: strip_revision(find_participant(view, tx, name)) for role, name in roles.items() if name}
    absent = [chat.people.name_of(one) for one in found.values() if one not in chat.attendance.present]
    if absent:
        raise FabulaError(
            Code.MODE_ROLES_INVALID,
            message(
                "{names} is not present in this conversation. Let them join first. Nothing was changed.",
                names=join_names(dict.fromkeys(absent)),
            ),
        )
    return found


def _check_state(name: str, state: Mapping[str, Any]) -> None:
    """Refuse a state that cannot be stored as JSON, or that uses a name that belongs to no mode."""
    try:
        msgspec.json.encode(state)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise explain_mode_failure(name, message("its state cannot be stored ({error})", error=str(error))) from error
    if not state.keys().isdisjoint(RESERVED_KEYS):
        raise explain_mode_failure(name, message("its state uses the names {names}", names=join_names(RESERVED_KEYS)))
