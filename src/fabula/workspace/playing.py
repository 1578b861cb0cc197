"""What somebody who plays a character can do: take part in the conversations where that character is (cnv-8, ppl-2).

A player is a principal with limits, and hears what its own character hears: `Attendance` decides that, here as in
prompts. Other speakers answer with the rights of the project, by the models of its owner. Nothing else of that work
reaches the player: no prompt, no token count, no state of a mode, and of errors only their code. What the player does
not hear is not among the things that a name is looked up in, so that a refusal is the same whether a thing is hidden
or absent. Principals without limits hear everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import aclosing
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import desc

from fabula.context.request import Principal
from fabula.conversation import history
from fabula.conversation.edits import ConversationRecord
from fabula.conversation.history import HistoryPage
from fabula.conversation.mentions import find_mentions
from fabula.conversation.model import Message
from fabula.conversation.modes import DEFAULT_MODE
from fabula.conversation.participants import Participant, Participants, list_names, load_participants
from fabula.conversation.presence import Attendance, load_attendance
from fabula.conversation.tables import conversations, messages, presence
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.settings.values import read_values
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction
from fabula.workspace.arguments import PositiveInt
from fabula.workspace.chat.events import (
    Announced,
    ChatEvent,
    ChatEvents,
    MessageStored,
    PromptHandedOver,
    ReplyFailed,
    ReplyStored,
    SpeakerEvent,
    SpeakerStart,
    TurnEnd,
)
from fabula.workspace.chat.replies import ChatModel
from fabula.workspace.conversations import PAGE_SIZE
from fabula.workspace.grants import has_limits, refuse_request
from fabula.workspace.names import NamedThing, find_character_ids, find_named, match_named
from fabula.workspace.project import ProjectHandle
from fabula.workspace.verbs import ProjectVerbs

_MIN_BATCH = 100  # messages that are read at once, heard or not
_HASHED_MESSAGES = 100  # the newest that are heard: another window is told when these differ
_OWN_CODES = frozenset(  # of refusals that say nothing of what others know
    {
        Code.CHAT_NOBODY_PRESENT,
        Code.INPUT_TOO_LARGE,
        Code.NOT_ALLOWED,
        Code.STORE_BUSY,
        Code.STORE_CLOSED,
        Code.STORE_READ_ONLY,
        Code.STORE_UNREACHABLE,
        Code.TEXT_INVALID,
    }
)


class PlayedChat(Struct, frozen=True, kw_only=True):
    """A conversation as somebody in it sees it; who is present is told to those who are."""

    id: str
    title: str
    mode: str
    speaker: str  # the id of the own character; empty where it has left, or where no character is one's own
    present: tuple[Participant, ...]  # with their ids and names alone


class PlayingVerbs(ProjectVerbs):
    """Talking in the conversations of an open project as one's own character."""

    needs_all_rights = False

    def list_chats(self) -> list[PlayedChat]:
        """List the conversations in which one's own character takes part, or took part."""
        ears = _Ears(self._project)
        with self._read() as reading:
            people = load_participants(reading)
            found = [(one, load_attendance(reading, one.id)) for one in ears.list_chats(reading)]
        return [_describe_chat(one, attendance, people, ears) for one, attendance in found]

    def read_page(
        self, conversation: str, *, before: str | None = None, limit: PositiveInt | None = None
    ) -> HistoryPage:
        """Read the newest messages that one's own character heard, or those before a message, by its id."""
        ears = _Ears(self._project)
        with self._read() as reading:
            ident = ears.find_chat(reading, conversation).id
            attendance = load_attendance(reading, ident)
            if before is not None:
                row = reading.row(messages, id=before)
                said = None if row is None or row.conversation_id != ident else read_struct(Message, row)
                if said is None or not ears.hears(said, attendance):
                    raise FabulaError(
                        Code.STORE_NOT_FOUND,
                        message("There is no message {name!r} in this conversation.", name=before),
                    )
            size = limit or int(read_values(reading, (PAGE_SIZE,))[PAGE_SIZE])
            heard = ears.read_heard(reading, ident, attendance, before=before, count=size + 1)
        shown = heard[-size:]
        return HistoryPage(tuple(map(ears.show, shown)), shown[0].id if len(heard) > size else None)

    def send(
        self,
        conversation: str,
        text: str,
        *,
        speaker: str = "",
        audience: Sequence[str] | None = None,
        model: ChatModel = None,
    ) -> ChatEvents:
        """Say something as one's own character, and hear what it hears of the answers."""
        ears = _Ears(self._project)
        with self._read() as reading:
            ident = ears.find_chat(reading, conversation).id
            attendance, people = load_attendance(reading, ident), load_participants(reading)
        present = [people.by_id.get(one) or Participant(id=one) for one in sorted(attendance.present)]
        things = [NamedThing(one.id, list_names(one)) for one in present]
        own_id = _choose_speaker([one for one in things if ears.is_own(one.id)], speaker)
        heard_by = None
        if audience is not None:
            heard_by = [find_named(things, one, what=message("participant")).id for one in audience]
        whole = self._project.with_principal(Principal(may_inspect=False))
        sending = whole.chat.send(ident, text, speaker=own_id, audience=heard_by, model=model)
        return self._hear(ident, sending, _explain_mentions(text, present))

    async def _hear(self, ident: str, sending: ChatEvents, notes: tuple[Sentence, ...]) -> ChatEvents:
        """Yield what one's own character hears of a turn."""
        ears = _Ears(self._project)
        audible: set[str] = set()  # speakers who are heard now

        def load(event: ChatEvent) -> ChatEvent | None:
            with self._read() as reading:
                attendance = load_attendance(reading, ident)
            return _hear_event(event, ears, attendance, notes, audible)

        try:
            async with aclosing(sending) as events:
                async for event in events:
                    if isinstance(event, SpeakerEvent) and not isinstance(event, _LOOKED_UP):
                        shown: ChatEvent | None = event if event.participant_id in audible else None
                    else:
                        shown = await asyncio.to_thread(load, event)
                    if shown is not None:
                        yield shown
        except FabulaError as error:
            raise _hide_reason(error) from None


_LOOKED_UP = (SpeakerStart, ReplyStored, ReplyFailed, PromptHandedOver)


def _hear_event(
    event: ChatEvent,
    ears: _Ears,
    attendance: Attendance,
    notes: tuple[Sentence, ...],
    audible: set[str],
) -> ChatEvent | None:
    """Return an event as it is heard; None where it is not."""
    match event:
        case MessageStored(message=said):
            return MessageStored(ears.show(said), notes)
        case Announced(message=said):
            return Announced(ears.show(said)) if ears.hears(said, attendance) else None
        case ReplyStored(message=said):
            shown = ReplyStored(participant_id=event.participant_id, name=event.name, message=ears.show(said))
            return replace(shown, is_cut=event.is_cut) if ears.hears(said, attendance) else None
        case TurnEnd():
            return replace(event, mode_state={}, waiting=tuple(one for one in event.waiting if one in audible))
    assert isinstance(event, SpeakerEvent)
    saying = Message(
        id="",
        role="assistant",
        content="",
        speaker=event.participant_id,
        audience=event.audience,
    )
    if not ears.hears(saying, attendance):
        audible.discard(event.participant_id)
        return None
    audible.add(event.participant_id)
    if isinstance(event, SpeakerStart):
        return event
    code = event.error.code if isinstance(event, ReplyFailed) else Code.LLM_NO_KEY
    sentence = message("{name} cannot answer now. Ask the owner of the project.", name=event.name)
    return ReplyFailed(
        participant_id=event.participant_id,
        name=event.name,
        error=FabulaError(code, sentence),
        text=event.text if isinstance(event, ReplyFailed) else "",
    )


class HeardChats:
    """What one's own character hears in all its conversations, for telling when that has changed."""

    def __init__(self, project: ProjectHandle) -> None:
        self._project = project
        self._hashes = self._load(None)

    def find_changed(self, changed: Collection[str] | None) -> set[str]:
        """Return the conversations in which something else is heard than before, among those that were changed."""
        before = self._hashes
        self._hashes = self._load(changed)
        return {one for one in before.keys() | self._hashes.keys() if before.get(one) != self._hashes.get(one)}

    def _load(self, changed: Collection[str] | None) -> dict[str, str]:
        project, ears = self._project, _Ears(self._project)
        assert project.store is not None
        with project.store.read(project=project.id) as reading:
            people = load_participants(reading)
            return {
                one.id: self._hashes[one.id]
                if changed is not None and one.id not in changed and one.id in self._hashes
                else _hash_chat(reading, one, people, ears)
                for one in ears.list_chats(reading)
            }


def _hash_chat(reading: ReadTransaction, record: ConversationRecord, people: Participants, ears: _Ears) -> str:
    attendance = load_attendance(reading, record.id)
    heard = ears.read_heard(reading, record.id, attendance, before=None, count=_HASHED_MESSAGES)
    shown = (_describe_chat(record, attendance, people, ears), heard[-_HASHED_MESSAGES:])
    return sha256(msgspec.json.encode(shown)).hexdigest()


class _Ears:
    """Whose ears a principal has: those of its own character, or, without limits, everybody's."""

    def __init__(self, project: ProjectHandle) -> None:
        self._own: frozenset[str] | None = None
        if has_limits(project.principal):
            view, granted = project.view, project.principal.grants.characters or frozenset()
            self._own = granted.union(*(find_character_ids(view, one) for one in granted))

    @property
    def hears_all(self) -> bool:
        """Whether everything is heard."""
        return self._own is None

    def is_own(self, participant_id: str) -> bool:
        """Whether a participant is one's own character."""
        return self._own is not None and participant_id in self._own

    def hears(self, said: Message, attendance: Attendance) -> bool:
        """Whether a message is heard; drafts and steps on the way to a reply are heard by nobody."""
        if self._own is None:
            return True
        listeners = attendance.find_listeners(said)
        return said.final and listeners is not None and not self._own.isdisjoint(listeners)

    def show(self, said: Message) -> Message:
        """Return a message without what tells of others, such as gaps between numbers, or of earlier wordings."""
        if self._own is None:
            return said
        return Message(
            id=said.id,
            role=said.role,
            content=said.content,
            speaker=said.speaker,
            timestamp=said.timestamp,
            kind=said.kind,
            audience=said.audience,
        )

    def list_chats(self, reading: ReadTransaction) -> list[ConversationRecord]:
        """The conversations in which one takes part; their order says nothing of what is said in them."""
        if self._own is None:
            rows = reading.rows(conversations, order=(desc(conversations.c.changed), conversations.c.id))
        else:
            takes_part = presence.c.participant_id.in_(sorted(self._own))
            ids = {row.conversation_id for row in reading.rows(presence, takes_part, only=("conversation_id",))}
            rows = reading.rows(conversations, conversations.c.id.in_(sorted(ids)), order=(conversations.c.id,))
        return [read_struct(ConversationRecord, row) for row in rows]

    def find_chat(self, reading: ReadTransaction, name: str) -> ConversationRecord:
        """Find one of these conversations by its id or title."""
        known = {one.id: one for one in self.list_chats(reading)}
        things = [NamedThing(one.id, (one.title,) if one.title else ()) for one in known.values()]
        return known[find_named(things, name, what=message("conversation")).id]

    def read_heard(
        self, reading: ReadTransaction, ident: str, attendance: Attendance, *, before: str | None, count: int
    ) -> list[Message]:
        """Read at least so many messages that are heard, if there are, oldest first."""
        heard: list[Message] = []
        while True:
            page = history.read_page(reading, ident, before=before, limit=max(count, _MIN_BATCH))
            heard = [*(one for one in page.messages if self.hears(one, attendance)), *heard]
            before = page.before
            if before is None or len(heard) >= count:
                return heard


def _describe_chat(record: ConversationRecord, attendance: Attendance, people: Participants, ears: _Ears) -> PlayedChat:
    own = next((one for one in sorted(attendance.present) if ears.is_own(one)), "")
    present = sorted(attendance.present) if own or ears.hears_all else []
    return PlayedChat(
        id=record.id,
        title=record.title,
        mode=record.mode or DEFAULT_MODE,
        speaker=own,
        present=tuple(Participant(id=one, name=people.name_of(one)) for one in present),
    )


def _choose_speaker(own: Sequence[NamedThing], wanted: str) -> str:
    """Return as whom a player speaks; a name of anybody else is refused in the same words as one of nobody."""
    if not own:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("Your character is not present in this conversation. Nothing was changed."),
        )
    found = match_named(own, wanted) if wanted else own[:1]
    if len(found) != 1:
        raise refuse_request()
    return found[0].id


def _explain_mentions(text: str, present: Sequence[Participant]) -> tuple[Sentence, ...]:
    """Say of each mention of nobody who is present that it asks nobody; who is elsewhere is not told."""
    unknown = find_mentions(text, {one.id: list_names(one) for one in present}).unknown
    return tuple(message("Nobody here is called {name}.", name=word) for word in unknown)


def _hide_reason(error: FabulaError) -> FabulaError:
    """Return a refusal without what it tells of prompts, modes and people elsewhere."""
    if error.code in _OWN_CODES:
        return error
    return FabulaError(error.code, message("Nobody can answer now. What you said is kept if it is shown."))
