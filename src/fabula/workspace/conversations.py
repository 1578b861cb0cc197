"""What a person can do with conversations: start, list, record, read, correct, branch, delete and search (cnv-1…5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.conversation import edits, history
from fabula.conversation.cards import CardTexts
from fabula.conversation.documents import get_document_id
from fabula.conversation.edits import ConversationRecord, MessageEvent
from fabula.conversation.history import HistoryPage, ParticipantMatch, TreeMessage
from fabula.conversation.message_search import FoundMessage, search_messages
from fabula.conversation.model import DEFAULT_NOTE_DEPTH, GREETING, NOTE, AuthorNote, Message, MessageKind
from fabula.conversation.modes.registry import find_mode_name
from fabula.conversation.participants import (
    Participant,
    Participants,
    base_id,
    get_participant,
    load_participants,
    strip_revision,
)
from fabula.conversation.personas import find_card
from fabula.conversation.presence import Attendance, load_attendance, load_attendances, load_end
from fabula.conversation.tables import conversations, messages
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.ids import parse_timestamp
from fabula.core.messages import advise, is_word, message, plural
from fabula.core.view import View
from fabula.settings.values import read_values
from fabula.store import undo
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.store.undo import UndoStep
from fabula.text.macros import MacroExpander, MacroValues
from fabula.text.offsets import normalise
from fabula.workspace.arguments import PositiveInt, Title
from fabula.workspace.cards import read_card
from fabula.workspace.names import (
    find_conversation,
    find_participant,
    list_all_names,
    load_chapter_titles,
)
from fabula.workspace.participants import PLAYER, ensure_participant
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, label_removal

PAGE_SIZE = "History.HistoryPageSize"
UNDO_TIME = timedelta(seconds=10)  # in which a deletion can be undone by `undo_delete`
_DELETED = (message("message"), message("conversation"))
LAST = "last"  # the newest message of the active path
LAST_WORD = message("last")  # the same, as a person types it


class ConversationDetails(Struct, frozen=True):
    """A conversation, who took part from when to when, their names, and how it begins if it has no title."""

    record: ConversationRecord
    attendance: Attendance
    participants: Participants
    opening: str = ""


class ConversationPage(Struct, frozen=True):
    """A page of conversations, its number from 1, and whether another one follows."""

    conversations: tuple[ConversationDetails, ...]
    page: int
    has_more: bool
    numbers: Mapping[str, int] = {}  # of its conversations in the list of all, by id: commands accept them


class ConversationVerbs(ProjectVerbs):
    """The conversations of an open project."""

    def start(
        self, participants: Sequence[str] = (), *, title: str = "", mode: str = "", greeting: str = ""
    ) -> ConversationRecord:
        """Start a conversation with these participants, by id, name or alias; a character of the codex becomes one.

        `greeting` names the participant who speaks first, with the first message of their card. The card's other
        greetings are its alternatives, which `list_siblings` lists and `select` chooses.
        """
        view = self._view
        with self._write(label_addition(message("conversation"), title or ", ".join(participants) or "…")) as tx:
            ids = [ensure_participant(view, tx, name) for name in participants]
            host = ensure_participant(view, tx, greeting) if greeting else ""
            if host and host not in ids:
                ids.append(host)
            ident = edits.start_conversation(tx, participants=ids, title=title, mode=self._find_mode(mode))
            if host:
                greet(tx, view, ident, get_participant(tx, host), ids)
            return edits.get_conversation(tx, ident)

    def list_all(
        self, participants: Sequence[str] = (), *, match: ParticipantMatch = "subset", limit: PositiveInt | None = None
    ) -> list[ConversationDetails]:
        """List conversations, the latest first: all, or those in which these take part."""
        view = self._view
        with self._read() as reading:
            return _find(reading, view, participants, match, limit)

    def list_page(
        self,
        participants: Sequence[str] = (),
        *,
        match: ParticipantMatch = "subset",
        page: int = 1,
        limit: int | None = None,
    ) -> ConversationPage:
        """List a page of conversations, the latest first; a page has as many as one of messages, or `limit`."""
        view = self._view
        with self._read() as reading:
            size = limit or int(read_values(reading, (PAGE_SIZE,))[PAGE_SIZE])
            offset = (max(page, 1) - 1) * size
            found = _find(reading, view, participants, match, size + 1, offset)
            shown = tuple(found[:size])
            if participants:
                numbers = history.number_conversations(reading, [one.record for one in shown])
            else:
                numbers = {one.record.id: number for number, one in enumerate(shown, start=offset + 1)}
            return ConversationPage(shown, max(page, 1), len(found) > size, numbers)

    def get(self, conversation: str) -> ConversationDetails:
        """Return one conversation, by its id or title."""
        with self._read() as reading:
            ident = find_conversation(None, reading, conversation)
            people = load_participants(reading)
            return _load_details(reading, [edits.get_conversation(reading, ident)], people)[0]

    def rename(self, conversation: str, title: Title, *, expected_version: int | None = None) -> int:
        """Give a conversation another title; return its new version."""
        with self._write(label_change(message("conversation"), self._find_title(conversation))) as tx:
            ident = find_conversation(None, tx, conversation)
            if get_document_id(ident):
                raise FabulaError(
                    Code.REQUEST_INVALID,
                    message("This conversation has the title of its chapter. Rename the chapter. Nothing was changed."),
                )
            return edits.update_conversation(tx, ident, {"title": title.strip()}, expected=expected_version)

    def set_note(
        self, conversation: str, text: str, *, depth: int = DEFAULT_NOTE_DEPTH, role: Role = "system"
    ) -> ConversationDetails:
        """Set the author's note, which every prompt of the conversation holds at a depth; an empty text removes it."""
        try:
            note = msgspec.convert({"text": normalise(text).strip(), "depth": depth, "role": role}, AuthorNote)
        except msgspec.ValidationError as error:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "This cannot be the note of a conversation: {problem}. Nothing was changed.",
                    problem=explain_decode_error(error, AuthorNote),
                ),
            ) from error
        with self._write(label_change(message("conversation"), self._find_title(conversation))) as tx:
            ident = find_conversation(None, tx, conversation)
            state = dict(edits.get_conversation(tx, ident).mode_state)
            state.pop(NOTE, None)
            if note.text:
                state[NOTE] = msgspec.to_builtins(note)
            edits.update_conversation(tx, ident, {"mode_state": state})
        return self.get(ident)

    def delete(self, conversation: str) -> None:
        """Delete a conversation with its messages."""
        with self._write(label_removal(message("conversation"), self._find_title(conversation))) as tx:
            edits.remove_conversation(tx, find_conversation(None, tx, conversation))

    def join(self, conversation: str, participant: str) -> bool:
        """Let somebody join, a character of the codex too; they hear what is said from now on.

        Return whether they were away; where they are present, nothing is changed.
        """
        view = self._view
        with self._write(label_change(message("conversation"), self._find_title(conversation))) as tx:
            ident = find_conversation(None, tx, conversation)
            return edits.join_conversation(tx, ident, ensure_participant(view, tx, participant))

    def leave(self, conversation: str, participant: str) -> None:
        """Let somebody leave; they hear nothing of what is said from now on."""
        view = self._view
        with self._write(label_change(message("conversation"), self._find_title(conversation))) as tx:
            ident = find_conversation(None, tx, conversation)
            edits.leave_conversation(tx, ident, find_participant(view, tx, participant))

    def record(
        self,
        conversation: str,
        content: str,
        *,
        speaker: str = "",
        role: Role | None = None,
        audience: Sequence[str] | None = None,
        kind: MessageKind | None = None,
        final: bool = True,
        after: str | None = None,
    ) -> Message:
        """Record what somebody said, behind the newest message or `after` another one, which makes a branch.

        The role is the user's for a player and for nobody in particular, else the assistant's. With an audience it is
        a whisper: only these and the speaker hear it.
        """
        with self._write() as tx:
            ident, end = conversation, load_end(tx, conversation)
            if end is None:  # a title
                ident = find_conversation(None, tx, conversation)
                end = load_end(tx, ident)
            attendance, who = load_attendance(tx, ident, end), speaker
            if who and strip_revision(who) not in attendance.everybody:
                who = find_participant(None, tx, speaker)
            if who.startswith("persona:"):
                who = get_participant(tx, who).speaker
            new = Message(
                id="",
                role=role or ("user" if not who or who.startswith(f"{PLAYER}:") else "assistant"),
                content=content,
                speaker=who,
                audience=None if audience is None else tuple(find_participant(None, tx, one) for one in audience),
                kind=kind,
                final=final,
                parent_id=None if after is None else find_message(tx, ident, after),
            )
            return history.record_message(tx, ident, new, attendance, end)

    def subscribe(self, listener: Callable[[MessageEvent], None]) -> Callable[[], None]:
        """Call a listener with every message that this process records in the project; return what ends that.

        It is called after the message is stored, in the thread that recorded it. One that raises is logged.
        """
        project_id = self._project.id

        def listen(event: MessageEvent) -> None:
            if event.project_id == project_id:
                listener(event)

        return self._store.hooks.subscribe(MessageEvent, listen)

    def read_page(
        self, conversation: str, *, before: str | None = None, limit: PositiveInt | None = None
    ) -> HistoryPage:
        """Read the newest messages of the active path, or those before a message; a page at a time, without end."""
        with self._read() as reading:
            ident = find_conversation(None, reading, conversation)
            size = limit or int(read_values(reading, (PAGE_SIZE,))[PAGE_SIZE])
            earlier = None if before is None else find_message(reading, ident, before)
            return history.read_page(reading, ident, before=earlier, limit=size)

    def get_message(self, conversation: str, message_name: str) -> Message:
        """Return one message of a conversation, by the number it is shown with, its id, or `last`."""
        with self._read() as reading:
            return edits.get_message(reading, find_message(reading, conversation, message_name))

    def list_siblings(self, conversation: str, message_name: str) -> list[Message]:
        """List a message and its alternatives: other answers to the same, or other wordings of it."""
        with self._read() as reading:
            return history.list_siblings(reading, find_message(reading, conversation, message_name))

    def list_branches(self, conversation: str) -> list[Message]:
        """List every message that has alternatives, whether it is on the path or not."""
        with self._read() as reading:
            return history.list_branches(reading, find_conversation(None, reading, conversation))

    def read_tree(self, conversation: str, *, listener: str = "", newest: PositiveInt = 20) -> list[TreeMessage]:
        """Read where branches begin and end, and the newest messages of the active path, in the order of their numbers.

        Drafts are not among them. With a `listener`, the id of a participant, only what this one heard is.
        """
        with self._read() as reading:
            ident = find_conversation(None, reading, conversation)
            attendance = load_attendance(reading, ident)

            def is_shown(said: Message) -> bool:
                heard = attendance.find_listeners(said) if said.final and listener else None
                return said.final and (heard is None or strip_revision(listener) in heard)

            return history.read_tree(reading, ident, newest=newest, is_shown=is_shown)

    def select(self, conversation: str, message_name: str) -> Message:
        """Make the branch of a message the active one, as far as it goes on; return its newest message."""
        with self._write(label_change(message("conversation"), self._find_title(conversation))) as tx:
            leaf = history.find_newest_leaf(tx, find_message(tx, conversation, message_name))
            _choose_branch(tx, find_conversation(None, tx, conversation), leaf)
            return edits.get_message(tx, leaf)

    def go_back(self, conversation: str, message_name: str) -> Message:
        """Make a message of any branch the newest one; what followed it stays as a branch."""
        with self._write(label_change(message("conversation"), self._find_title(conversation))) as tx:
            ident = find_message(tx, conversation, message_name)
            _choose_branch(tx, find_conversation(None, tx, conversation), ident)
            return edits.get_message(tx, ident)

    def correct(
        self, conversation: str, message_name: str, content: str, *, expected_version: int | None = None
    ) -> Message:
        """Replace the text of a message; the old text is kept."""
        with self._write(label_change(message("message"), content)) as tx:
            ident = find_message(tx, conversation, message_name)
            took_part = load_attendance(tx, find_conversation(None, tx, conversation)).participants
            people = [one for one in load_participants(tx).by_id.values() if one.id in took_part]
            names = list_all_names(self._view, people)
            edits.correct_message(tx, ident, content, expected=expected_version, names=names)
            return edits.get_message(tx, ident)

    def pin(self, conversation: str, message_name: str, words: str | None = "") -> Message:
        """Pin a message, or some words of it, which chats are then told word for word; None lets go of it."""
        with self._write(label_change(message("message"), message_name)) as tx:
            ident = find_message(tx, conversation, message_name)
            tx.undo_label = label_change(message("message"), edits.get_message(tx, ident).content)
            edits.pin_message(tx, ident, words)
            return edits.get_message(tx, ident)

    def delete_message(self, conversation: str, message_name: str, *, expected_version: int | None = None) -> Message:
        """Delete a message; what followed on from it follows on from the message before."""
        with self._write(label_removal(message("message"), message_name)) as tx:
            ident = find_message(tx, conversation, message_name)
            tx.undo_label = label_removal(message("message"), edits.get_message(tx, ident).content)
            return history.delete_message(tx, ident, expected=expected_version)

    def undo_delete(self) -> UndoStep:
        """Bring back the message or conversation that was deleted last, within 10 seconds.

        Later, or after another change, `changes.undo` takes back changes one by one.
        """
        with self._write() as tx:
            step = undo.find_undo(tx)
            is_deletion = step.label in [label_removal(what, step.label.values.get("name", "")) for what in _DELETED]
            age = datetime.now(UTC) - (parse_timestamp(step.made) or datetime.min.replace(tzinfo=UTC))
            if not is_deletion or age > UNDO_TIME:
                raise FabulaError(
                    Code.STORE_CONFLICT,
                    message(
                        "Nothing was deleted in the last {count} seconds. The last change was: {label}. {advice}",
                        count=int(UNDO_TIME.total_seconds()),
                        label=step.label,
                        advice=advise(message("Take it back with: fabula undo"), message("Undo takes it back.")),
                    ),
                )
            return undo.undo(tx)

    def _find_mode(self, mode: str) -> str:
        """Return the name of the mode that a spelling means, of the project's own too; none is none."""
        own = self._project.chat_modes.own if self._project.chat_modes is not None else ()
        return mode and find_mode_name(mode, own)

    def _find_title(self, conversation: str) -> str:
        """Return the title of a conversation that a spelling means; what was typed, where it has none."""
        with self._read() as reading:
            return get_title(reading, conversation)

    def search(self, text: str, *, conversation: str | None = None, limit: PositiveInt = 20) -> list[FoundMessage]:
        """Find messages that contain all words of a text, whatever their order, case and accents, the newest first.

        What stands in quotes stays together.
        """
        with self._read() as reading:
            ident = None if conversation is None else find_conversation(None, reading, conversation)
            return search_messages(reading, text, conversation_id=ident, limit=limit)


def _choose_branch(tx: WriteTransaction, conversation_id: str, message_id: str) -> None:
    """Make the path to a message the active one, with the round of the chat that belongs to it."""
    from fabula.workspace.chat.rounds import choose_branch  # chats need conversations first

    choose_branch(tx, conversation_id, message_id)


def _find(
    reading: ReadTransaction,
    view: View,
    participants: Sequence[str],
    match: ParticipantMatch,
    limit: int | None,
    offset: int = 0,
) -> list[ConversationDetails]:
    """Find conversations, the latest first, from the one at an offset on."""
    if participants:
        ids = [find_participant(view, reading, name) for name in participants]
        last = None if limit is None else offset + limit
        found = history.find_conversations(reading, ids, match, limit=last)[offset:]
    else:
        found = edits.list_conversations(reading, limit=limit, offset=offset)
    return _load_details(reading, found, view.snapshot(Participants) or load_participants(reading))


def _load_details(
    reading: ReadTransaction, found: Sequence[ConversationRecord], people: Participants
) -> list[ConversationDetails]:
    named = _name_by_chapters(reading, found)
    openings = history.load_openings(reading, (one.id for one in named if not one.title))
    attendances = load_attendances(reading, [one.id for one in named])
    return [ConversationDetails(one, attendances[one.id], people, openings.get(one.id, "")) for one in named]


def get_title(reading: ReadTransaction, conversation: str) -> str:
    """Return the title of a conversation that a spelling means; the spelling, where it has none."""
    record = edits.get_conversation(reading, find_conversation(None, reading, conversation))
    return _name_by_chapters(reading, [record])[0].title or conversation


def _name_by_chapters(reading: ReadTransaction, found: Sequence[ConversationRecord]) -> list[ConversationRecord]:
    """Return conversations, those of chapters with the chapters' titles."""
    titles = load_chapter_titles(reading, (one.id for one in found))
    return [replace(one, title=titles[one.id]) if one.id in titles else one for one in found]


def greet(tx: WriteTransaction, view: View, conversation_id: str, host: Participant, ids: Sequence[str]) -> None:
    """Record the greetings of a participant as alternatives of the first message, the usual one active."""
    people = [base_id(one) for one in ids]
    card = read_card(tx, host) or CardTexts()
    greetings = card.list_greetings(in_group=len(people) > 2)
    if not greetings:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("{name} has no greeting. Nothing was changed.", name=host.name or host.id),
        )
    player = next((one for one in people if one.startswith(f"{PLAYER}:")), "")
    known = load_participants(tx)  # the player may be new
    names = {one: find_card(view, one).nickname.strip() or known.name_of(one) for one in people}
    values = MacroValues(
        user=names.get(player, ""),
        char=card.nickname.strip() or host.name,
        group=tuple(sorted(name for one, name in names.items() if one != player)),
        now=datetime.now().astimezone(),
        language=view.project.language,
        place_seed=conversation_id,
        request_seed=conversation_id,
        find_text=card.find_text,
    )
    recorded = [
        edits.add_message(
            tx,
            conversation_id,
            Message(
                id="",
                role="assistant",
                speaker=host.speaker,
                content=MacroExpander(values).expand(text).strip(),
                extra={GREETING: True},
            ),
            as_first=True,
        )
        for text in greetings
    ]
    if len(recorded) > 1:
        edits.select_branch(tx, conversation_id, recorded[0].id)


def find_message(reading: ReadTransaction, conversation: str, name: str) -> str:
    """Return the id of a message of a conversation: by its id, the number it is shown with, or `last`."""
    row = reading.require(conversations, id=find_conversation(None, reading, conversation))
    in_conversation = messages.c.conversation_id == row.id
    if is_word(name, LAST_WORD) and row.leaf_id is not None:
        return str(row.leaf_id)
    is_wanted = messages.c.number == int(name) - 1 if name.isdecimal() and len(name) < 10 else messages.c.id == name
    found = reading.rows(messages, in_conversation, is_wanted, only=("id",))
    if not found:
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            plural(
                row.said,
                "There is no message {name!r} in this conversation, which has {count}. Nothing was changed.",
                "There is no message {name!r} in this conversation, which has {count}. Nothing was changed.",
                name=name,
            ),
        )
    return str(found[0].id)
