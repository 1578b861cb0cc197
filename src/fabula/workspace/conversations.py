"""What a person can do with conversations: start, list, record, read, correct, branch, delete and search (cnv-1…5)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.conversation import edits, history
from fabula.conversation.edits import ConversationRecord
from fabula.conversation.history import FoundMessage, HistoryPage, ParticipantMatch
from fabula.conversation.model import Message, MessageKind, get_kind
from fabula.conversation.participants import Participants, get_participant, load_participants
from fabula.conversation.presence import Attendance, load_attendance
from fabula.conversation.snapshot import load_newest_messages
from fabula.conversation.tables import conversations, messages
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.messages import message, plural
from fabula.settings.values import read_values
from fabula.store.transaction import ReadTransaction
from fabula.workspace.names import find_conversation, find_participant
from fabula.workspace.participants import PLAYER, ensure_participant
from fabula.workspace.verbs import ProjectVerbs, label_change, label_removal

PAGE_SIZE = "History.HistoryPageSize"
LAST = "last"  # the newest message of the active path


class ConversationDetails(Struct, frozen=True):
    """A conversation, who took part from when to when, and their names."""

    record: ConversationRecord
    attendance: Attendance
    participants: Participants


class ConversationVerbs(ProjectVerbs):
    """The conversations of an open project."""

    def start(self, participants: Sequence[str] = (), *, title: str = "", mode: str = "") -> ConversationRecord:
        """Start a conversation with these participants, by id, name or alias."""
        view = self._view
        with self._write() as tx:
            ids = [find_participant(view, tx, name) for name in participants]
            return edits.get_conversation(tx, edits.start_conversation(tx, participants=ids, title=title, mode=mode))

    def list_all(
        self, participants: Sequence[str] = (), *, match: ParticipantMatch = "subset", limit: int | None = None
    ) -> list[ConversationDetails]:
        """List conversations, the latest first: all, or those in which these take part."""
        view = self._view
        with self._read() as reading:
            if participants:
                ids = [find_participant(view, reading, name) for name in participants]
                found = history.find_conversations(reading, ids, match, limit=limit)
            else:
                found = edits.list_conversations(reading, limit=limit)
            people = load_participants(reading)
            return [ConversationDetails(one, load_attendance(reading, one.id), people) for one in found]

    def get(self, conversation: str) -> ConversationDetails:
        """Return one conversation, by its id or title."""
        with self._read() as reading:
            ident = find_conversation(None, reading, conversation)
            record = edits.get_conversation(reading, ident)
            return ConversationDetails(record, load_attendance(reading, ident), load_participants(reading))

    def rename(self, conversation: str, title: str, *, expected_version: int | None = None) -> int:
        """Give a conversation another title; return its new version."""
        with self._write(label_change(message("conversation"), conversation)) as tx:
            ident = find_conversation(None, tx, conversation)
            return edits.update_conversation(tx, ident, {"title": title.strip()}, expected=expected_version)

    def delete(self, conversation: str) -> None:
        """Delete a conversation with its messages."""
        with self._write(label_removal(message("conversation"), conversation)) as tx:
            edits.remove_conversation(tx, find_conversation(None, tx, conversation))

    def join(self, conversation: str, participant: str) -> None:
        """Let somebody join, a character of the codex too; they hear what is said from now on."""
        view = self._view
        with self._write(label_change(message("conversation"), conversation)) as tx:
            ident = find_conversation(None, tx, conversation)
            edits.join_conversation(tx, ident, ensure_participant(view, tx, participant))

    def leave(self, conversation: str, participant: str) -> None:
        """Let somebody leave; they hear nothing of what is said from now on."""
        view = self._view
        with self._write(label_change(message("conversation"), conversation)) as tx:
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
        view = self._view
        with self._write() as tx:
            ident = find_conversation(None, tx, conversation)
            who = find_participant(view, tx, speaker) if speaker else ""
            if who.startswith("persona:"):
                who = get_participant(tx, who).speaker
            new = Message(
                id="",
                role=role or ("user" if not who or who.startswith(f"{PLAYER}:") else "assistant"),
                content=content,
                speaker=who,
                audience=None if audience is None else tuple(find_participant(view, tx, one) for one in audience),
                kind=kind,
                final=final,
                parent_id=None if after is None else find_message(tx, ident, after),
            )
            return history.record_message(tx, ident, new)

    def read_page(self, conversation: str, *, before: str | None = None, limit: int | None = None) -> HistoryPage:
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

    def select(self, conversation: str, message_name: str) -> Message:
        """Make the branch of a message the active one, as far as it goes on; return its newest message."""
        with self._write(label_change(message("conversation"), conversation)) as tx:
            leaf = history.find_newest_leaf(tx, find_message(tx, conversation, message_name))
            edits.select_branch(tx, find_conversation(None, tx, conversation), leaf)
            return edits.get_message(tx, leaf)

    def go_back(self, conversation: str, message_name: str) -> Message:
        """Make a message of any branch the newest one; what followed it stays as a branch."""
        with self._write(label_change(message("conversation"), conversation)) as tx:
            ident = find_message(tx, conversation, message_name)
            edits.select_branch(tx, find_conversation(None, tx, conversation), ident)
            return edits.get_message(tx, ident)

    def take_back(self, conversation: str) -> tuple[Message, ...]:
        """Go back to before the last thing a person said; return what followed, which stays as a branch."""
        with self._write(label_change(message("conversation"), conversation)) as tx:
            ident = find_conversation(None, tx, conversation)
            path = load_newest_messages(tx, ident, edits.get_conversation(tx, ident).leaf_id)
            said = [index for index, one in enumerate(path) if get_kind(one) is MessageKind.USER]
            if not said:
                raise FabulaError(
                    Code.STORE_NOT_FOUND, message("Nobody has said anything that could be taken back yet.")
                )
            edits.select_branch(tx, ident, path[said[-1]].parent_id)
            return path[said[-1] :]

    def correct(
        self, conversation: str, message_name: str, content: str, *, expected_version: int | None = None
    ) -> Message:
        """Replace the text of a message; the old text is kept."""
        with self._write(label_change(message("message"), content)) as tx:
            ident = find_message(tx, conversation, message_name)
            edits.correct_message(tx, ident, content, expected=expected_version)
            return edits.get_message(tx, ident)

    def delete_message(self, conversation: str, message_name: str, *, expected_version: int | None = None) -> Message:
        """Delete a message; what followed on from it follows on from the message before."""
        with self._write(label_removal(message("message"), message_name)) as tx:
            ident = find_message(tx, conversation, message_name)
            return history.delete_message(tx, ident, expected=expected_version)

    def search(self, text: str, *, conversation: str | None = None, limit: int = 20) -> list[FoundMessage]:
        """Find messages that contain a text, the newest first."""
        with self._read() as reading:
            ident = None if conversation is None else find_conversation(None, reading, conversation)
            return history.search_messages(reading, text, conversation_id=ident, limit=limit)


def find_message(reading: ReadTransaction, conversation: str, name: str) -> str:
    """Return the id of a message of a conversation: by its id, the number it is shown with, or `last`."""
    row = reading.require(conversations, id=find_conversation(None, reading, conversation))
    in_conversation = messages.c.conversation_id == row.id
    if name == LAST and row.leaf_id is not None:
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
