"""Make the search corpus of a project from its manuscript and its conversations (cnv-8).

The search package knows neither manuscripts nor conversations. This module gives it the documents of the manuscript
as texts; messages, recaps, fixed prompts and biographies become search documents of their own, each passage with the
participants who may know it. The conversations of a store are read when the index is built, not when a project is
opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

from msgspec import Struct
from sqlalchemy import Row

from fabula.conversation.cards import Cards
from fabula.conversation.documents import get_document_id
from fabula.conversation.model import Conversations, ConversationState, Message, is_of_game
from fabula.conversation.participants import Participants, load_participants
from fabula.conversation.presence import Attendance, load_attendance, name_present
from fabula.conversation.recaps.model import StoredRecap
from fabula.conversation.recaps.schedule import find_recap_audience
from fabula.conversation.snapshot import load_added_messages, load_newest_messages
from fabula.conversation.tables import biographies, conversations, fixed_prompts, recaps
from fabula.core.messages import ENGLISH
from fabula.manuscript.model import Manuscript
from fabula.manuscript.projects import load_project
from fabula.search.corpus import (
    CONVERSATION_PREFIX,
    NO_CONVERSATIONS,
    PARTICIPANT_TEXTS,
    ConversationTexts,
    Corpus,
)
from fabula.search.index.passages import DocumentText
from fabula.search.model import Passage, SearchDocument
from fabula.store.rows import read_struct
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction
from fabula.workspace.cards import load_cards

MAX_MESSAGES = 20_000  # of one conversation, the newest: another branch of it is read anew while a request waits
WINDOW_STEP = 500  # messages more, before the oldest are left out: where messages are only added, so is to the index
_MESSAGE_CHARACTERS = 200  # an estimate of the average length
SEARCHED_AREAS = ("conversation", "recaps", "people", "lorebook")  # which has the cards


class _Voices(Struct, frozen=True):
    """What every passage of a conversation depends on: it names its speaker, in a language, and is no greeting."""

    names: Participants = Participants()
    cards: Cards = Cards()
    language: str = ENGLISH


def make_document_texts(manuscript: Manuscript) -> list[DocumentText]:
    """Return the texts of the manuscript's documents, without notes."""
    return [
        DocumentText(document.id, document.name, document.text, document.effective_known_to)
        for document in manuscript.documents
    ]


def make_corpus(
    project_id: str,
    manuscript: Manuscript,
    conversations: ConversationTexts = NO_CONVERSATIONS,
    old: Corpus | None = None,
) -> Corpus:
    """Make the corpus of a project; it shares unchanged texts with the old one."""
    return Corpus(project_id, make_document_texts(manuscript), conversations, old)


def make_conversation_texts(snapshot: Conversations | None) -> ConversationTexts:
    """Make search documents of the conversations in a snapshot."""
    if snapshot is None or not any(snapshot.messages.values()):
        return NO_CONVERSATIONS
    nobody = Attendance(), _Voices()
    searchable = [_make_conversation_document(name, path, *nobody) for name, path in snapshot.messages.items()]
    return ConversationTexts(
        sum(len(message.content) for path in snapshot.messages.values() for message in path), lambda: searchable
    )


def _make_conversation_document(
    conversation_id: str,
    path: Iterable[Message],
    attendance: Attendance,
    voices: _Voices,
    title: str = "",
) -> SearchDocument:
    """Make a search document of a conversation's final messages, each known to the participants who were present."""
    passages = _make_passages(path, attendance, voices, is_titled=bool(title))
    return SearchDocument(CONVERSATION_PREFIX + conversation_id, passages, title)


def _make_passages(
    path: Iterable[Message],
    attendance: Attendance,
    voices: _Voices,
    *,
    is_titled: bool,
    follows: int = -1,
) -> tuple[Passage, ...]:
    """Make the passages of a path, or of what was added behind the message with the number `follows`."""
    final, names = [message for message in path if message.final], voices.names
    before = (follows, *(message.number or 0 for message in final))
    return tuple(
        Passage(
            f"history:{message.id}",
            message.prompt_text,
            names.name_speaker(message, voices.language),
            known_to=attendance.find_knowers(message),
            at=message.timestamp,
            speaker=names.name_of(message.speaker),
            number=message.number or 0,
            follows=number,
            present=() if is_titled else name_present(message, attendance, names),
        )
        for number, message in zip(before, final, strict=False)
        if message.content.strip()
        and not is_of_game(message)
        and not voices.cards.is_greeting(
            message
        )  # no other conversation is told of it, and its own one shows or offers it
    )


class _ReadConversation(Struct, frozen=True):
    """The search document of a conversation, and the state of the conversation when it was read."""

    document: SearchDocument
    state: ConversationState
    attendance: Attendance


class StoredConversations:
    """The search documents of a stored project's conversations and participants, read when first needed.

    After a change, the new object reuses the search documents of all unchanged conversations, and of one to which
    messages were only added the passages that it had.
    """

    def __init__(self, store: Store, project_id: str) -> None:
        self._store = store
        self._project_id = project_id
        self._changed: Set[str] | None = None  # conversations that changed since they were read; None for all
        self._conversations: dict[str, _ReadConversation] = {}  # by conversation id
        self._voices = _Voices()
        self._all_documents: tuple[SearchDocument, ...] | None = None  # None until they are read
        self._message_count: int | None = None  # None until they are counted
        self._loaded_counts: dict[str, int] = {}  # of the conversations of the view when they were counted
        self._uncounted: Set[str] | None = None  # conversations that changed since; None for all

    def after_changes(self, changed: Set[str] | None) -> StoredConversations:
        """Return the same conversations after a change: the ids of the changed ones, or None for all of them."""
        after = StoredConversations(self._store, self._project_id)
        after._conversations, after._voices = self._conversations, self._voices
        earlier = frozenset() if self._all_documents is not None else self._changed
        after._changed = None if changed is None or earlier is None else earlier | changed
        after._message_count, after._loaded_counts, after._uncounted = self._message_count, self._loaded_counts, changed
        return after

    def size(self, reading: ReadTransaction, loaded: Conversations | None = None) -> ConversationTexts:
        """Estimate the number of characters without reading the texts.

        Where only `loaded` conversations changed, the others are not counted again.
        """
        states = loaded.states if loaded is not None else {}
        counts, old = {name: state.message_count for name, state in states.items()}, self._loaded_counts
        changed = self._uncounted
        if self._message_count is None or changed is None or not changed <= counts.keys() & old.keys():
            self._message_count = reading.sum_values(conversations, conversations.c.said)
        else:
            self._message_count += sum(counts[name] - old[name] for name in changed)
        unchanged = {} if changed is None else {name: count for name, count in old.items() if name not in changed}
        self._loaded_counts, self._uncounted = unchanged | counts, frozenset()
        if not self._message_count and not reading.count(fixed_prompts):
            return NO_CONVERSATIONS
        return ConversationTexts(self._message_count * _MESSAGE_CHARACTERS, self.read_documents)

    def read_documents(self) -> Sequence[SearchDocument]:
        """Return all search documents; the first call reads them from the store."""
        if self._all_documents is None:
            with self._store.read(project=self._project_id) as reading:
                self._read_changed(reading)
                others = (*_load_recaps(reading), *_load_participant_texts(reading, self._voices.names))
            self._all_documents = (*(one.document for one in self._conversations.values()), *others)
        return self._all_documents

    def _read_changed(self, reading: ReadTransaction) -> None:
        changed = self._changed
        names, known = load_participants(reading), self._conversations
        voices = _Voices(names, load_cards(reading, names) or Cards(), load_project(reading)[0].language)
        if voices != self._voices:
            changed, known, self._voices = None, {}, voices
        rows = reading.rows(conversations, order=(conversations.c.id,))
        self._conversations = {
            row.id: known[row.id]
            if changed is not None and row.id not in changed and row.id in known
            else self._read(reading, row, known.get(row.id))
            for row in rows
            if not get_document_id(row.id)  # what went into the text is found there
        }

    def _read(self, reading: ReadTransaction, row: Row[Any], old: _ReadConversation | None) -> _ReadConversation:
        """Read a conversation; where messages were only added since the old document was made, these alone."""
        state, attendance = read_struct(ConversationState, row), load_attendance(reading, row.id, row)
        if old is not None and old.attendance.changes == attendance.changes:
            added = load_added_messages(reading, row.id, old.state, state)
            if added is not None:
                last = old.document.passages[-1].number if old.document.passages else -1
                passages = (
                    *old.document.passages,
                    *_make_passages(added, attendance, self._voices, is_titled=bool(row.title), follows=last),
                )
                if len(passages) > MAX_MESSAGES + WINDOW_STEP:
                    passages = passages[-MAX_MESSAGES:]
                return _ReadConversation(SearchDocument(old.document.id, passages, row.title), state, attendance)
        path = load_newest_messages(reading, row.id, row.leaf_id, MAX_MESSAGES)
        document = _make_conversation_document(row.id, path, attendance, self._voices, row.title)
        return _ReadConversation(document, state, attendance)


def _load_recaps(reading: ReadTransaction) -> list[SearchDocument]:
    """Load the recaps of conversations, known to the participants who heard all that they were made from."""
    passages: dict[str, list[Passage]] = {}  # by conversation id
    attendances: dict[str, Attendance] = {}
    for row in reading.rows(recaps, order=(recaps.c.conversation_id, recaps.c.place)):
        conversation_id = row.conversation_id
        if conversation_id not in attendances:
            attendances[conversation_id] = load_attendance(reading, conversation_id)
        audience = find_recap_audience(read_struct(StoredRecap, row), attendances[conversation_id])
        passages.setdefault(conversation_id, []).append(
            Passage(f"recap:{row.id}", row.text, "", known_to=audience, at=row.made)
        )
    return [
        SearchDocument(f"{CONVERSATION_PREFIX}{conversation_id}#recaps", tuple(items))
        for conversation_id, items in passages.items()
    ]


def _load_participant_texts(reading: ReadTransaction, names: Participants) -> list[SearchDocument]:
    """Load the fixed prompts and biographies of participants, each known only to the participant."""
    passages: dict[str, list[Passage]] = {}  # by participant id
    for table, kind in ((fixed_prompts, "fixed"), (biographies, "biography")):
        for row in reading.rows(table, order=(table.c.participant_id, table.c.place)):
            owner = row.participant_id
            passages.setdefault(owner, []).append(
                Passage(f"{kind}:{row.id}", row.text, names.name_of(owner), known_to=frozenset({owner}))
            )
    return [
        SearchDocument(f"{CONVERSATION_PREFIX}{owner}#{PARTICIPANT_TEXTS}", tuple(items))
        for owner, items in passages.items()
    ]
