"""What a principal may read of a story: chapters, synopses, codex entries and recaps, as far as it may know them.

The owner reads everything except entries of the level *never*, which are for no model. For anybody else the gate
decides, at the latest places of the story that were granted. What may not be known is not among the things that a name
is looked up in, so that a refusal is the same whether a thing is hidden or absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from fabula.codex import Codex, Entry
from fabula.codex.characters import collect_characters
from fabula.codex.entry import Level
from fabula.codex.entry_types import find_type
from fabula.codex.source import list_known_names
from fabula.context.gate import judge_fragment, judge_visibility, knows_document
from fabula.context.trace import Reason
from fabula.context.vantage import limit_to_appearances
from fabula.conversation.documents import get_document_id
from fabula.conversation.presence import load_attendance
from fabula.conversation.recaps import editing
from fabula.conversation.recaps.schedule import find_recap_audience
from fabula.conversation.tables import conversations, recaps, summaries
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Visibility
from fabula.core.messages import message
from fabula.core.story import Perspective, Position, Vantage
from fabula.core.view import View
from fabula.manuscript.model import Document, Manuscript
from fabula.manuscript.synopses.chapters import CONTAINER_KINDS
from fabula.manuscript.synopses.plan import ChapterSynopses
from fabula.store.transaction import ReadTransaction
from fabula.workspace.grants import has_limits
from fabula.workspace.names import (
    NamedThing,
    find_character_ids,
    find_named,
    find_readable_document,
    load_chapter_titles,
    number_chapters,
)
from fabula.workspace.project import ProjectHandle
from fabula.workspace.verbs import ProjectVerbs

ReadableKind = Literal["chapter", "synopsis", "entry", "recap"]
_END = 1 << 62  # an offset behind every text
_SHOWN_LEVELS = (Level.ALWAYS, Level.WHEN_DETECTED)


class ReadableItem(Struct, frozen=True, kw_only=True):
    """Something that a principal may read, as lists show it; the recaps of a conversation are one thing."""

    kind: ReadableKind
    id: str
    name: str
    number: int | None = None  # of a chapter
    type: str = ""  # of an entry
    length: int  # in characters


class ReadableText(ReadableItem, frozen=True, kw_only=True):
    """Something that a principal may read, with its text."""

    text: str


class ReadingVerbs(ProjectVerbs):
    """The texts of an open project as its principal may know them."""

    needs_all_rights = False

    def list_chapters(self) -> list[ReadableItem]:
        """List the documents of the story in reading order."""
        view = self._view
        documents, numbers = _Sight(self._project, view).documents, number_chapters(_list_documents(view))
        return [_show_document(one, numbers.get(one.id)) for one in documents]

    def read_chapter(self, chapter: str) -> ReadableText:
        """Read a document by its id, title or number."""
        view = self._view
        book, documents = _list_documents(view), _Sight(self._project, view).documents
        ident = find_readable_document(book, documents, chapter)
        found = next(one for one in documents if one.id == ident)
        return _add_text(_show_document(found, number_chapters(book).get(ident)), found.text)

    def read_synopses(self, chapters: Sequence[str] = ()) -> list[ReadableText]:
        """Read the synopses of some chapters, or of all; one without has the text that a prompt has instead."""
        view = self._view
        documents = _Sight(self._project, view).documents
        readable = {one.id for one in documents}
        story = view.snapshot(Manuscript) or Manuscript()
        numbers = number_chapters(story.documents)
        wanted = {find_readable_document(story.documents, documents, name) for name in chapters}
        return [
            ReadableText(
                kind="synopsis",
                id=one.id,
                name=one.documents[0].name,
                number=numbers.get(one.id),
                length=len(one.synopsis.text),
                text=one.synopsis.text,
            )
            for one in ChapterSynopses.for_manuscript(story, collect_characters(view)).chapters
            if one.documents[0].kind not in CONTAINER_KINDS
            and readable.issuperset(document.id for document in one.documents)
            and (not chapters or wanted.intersection(document.id for document in one.documents))
        ]

    def list_entries(self, *, kind: str | None = None) -> list[ReadableItem]:
        """List the entries of the codex, perhaps of one kind, in the order of the prompt."""
        found = _Sight(self._project, self._view).list_entries()
        kind = None if kind is None else find_type(kind, (entry.type for entry, _ in found))
        return [_show_entry(entry, text) for entry, text in found if kind in (None, entry.type)]

    def read_entry(self, entry: str) -> ReadableText:
        """Read an entry by its id, or by any of its names that may be known."""
        sight = _Sight(self._project, self._view)
        visible = {one.id: (one, text) for one, text in sight.list_entries()}
        things = [NamedThing(one.id, sight.list_names(one), None, one.type) for one, _ in visible.values()]
        found, text = visible[find_named(things, entry, what=message("entry")).id]
        return _add_text(_show_entry(found, text), text)

    def list_recaps(self) -> list[ReadableItem]:
        """List the conversations that have recaps or summaries."""
        return [
            ReadableItem(kind=one.kind, id=one.id, name=one.name, length=one.length) for one in self._load_recaps("")
        ]

    def read_recap(self, conversation: str) -> ReadableText:
        """Read the summaries and recaps of a conversation by its id or title."""
        found = {one.id: one for one in self._load_recaps(conversation)}
        things = [NamedThing(one.id, (one.name,)) for one in found.values()]
        return found[find_named(things, conversation, what=message("conversation"), code=Code.STORE_NOT_FOUND).id]

    def _load_recaps(self, wanted: str) -> list[ReadableText]:
        """Load what may be read of recaps: of the conversation of an id, or of all where there is none such."""
        sight = _Sight(self._project, self._view)
        with self._read() as reading:
            with_recaps = {
                row.conversation_id for table in (recaps, summaries) for row in reading.rows(table, only=_CONVERSATION)
            }
            titles = {row.id: row.title for row in reading.rows(conversations, only=("id", "title"))}
            titles |= load_chapter_titles(reading, with_recaps)
            idents = [wanted] if wanted in with_recaps else sorted(with_recaps)
            found = [_load_recap(reading, ident, titles[ident], sight) for ident in idents if sight.may_hear(ident)]
        return [one for one in found if one.text]


_CONVERSATION = ("conversation_id",)


class _Sight:
    """What a principal may know of a view: everything, or what passes the gate at one of its vantages."""

    def __init__(self, project: ProjectHandle, view: View) -> None:
        self._view, self._grants = view, project.principal.grants
        self._is_limited = has_limits(project.principal)
        self._vantages = self._list_vantages() if self._is_limited else []
        self.documents = [one for one in _list_documents(view) if self._may_read(one)]

    def _list_vantages(self) -> list[Vantage]:
        """The vantages that were granted, each at the latest places of the story that were."""
        granted, timeline = self._grants, self._view.timeline
        latest = timeline.find_latest(granted.documents)
        positions: list[Position | None] = [Position(one, _END) for one in latest] if latest else [None]
        people = granted.characters or frozenset()
        return [
            limit_to_appearances(
                Vantage(
                    perspective,
                    position,
                    character,
                    frozenset(find_character_ids(self._view, character or "")),
                    granted.documents,
                ),
                self._view,
            )
            for perspective in (Perspective if granted.perspectives is None else granted.perspectives)
            for character in (sorted(people) if perspective is Perspective.CHARACTER else [None])
            for position in positions
        ]

    def _may_read(self, document: Document) -> bool:
        known = (knows_document(document.id, one, self._view.timeline) for one in self._vantages)
        return not self._is_limited or any(known)

    def may_hear(self, conversation_id: str) -> bool:
        """Whether a conversation was granted; the writer's own with the assistant has no listeners."""
        granted = self._grants.conversations
        return not self._is_limited or (granted is not None and conversation_id in granted)

    def sees(self, thing: Fragment | Visibility) -> bool:
        """Whether a fragment, or what has these limits, may be known."""
        if not self._is_limited:
            return True
        timeline = self._view.timeline
        reasons = (
            judge_fragment(thing, one, timeline)
            if isinstance(thing, Fragment)
            else judge_visibility(thing, one, timeline)
            for one in self._vantages
        )
        return any(reason in (None, Reason.NOT_REVEALED) for reason in reasons)

    def list_entries(self) -> list[tuple[Entry, str]]:
        """The entries that may be known, each with what may be known of it."""
        codex = self._view.snapshot(Codex)
        found: list[tuple[Entry, str]] = []
        for entry in codex.entries if codex is not None else ():
            if entry.level is Level.NEVER or (self._is_limited and entry.level not in _SHOWN_LEVELS):
                continue
            assert codex is not None
            own, *others = codex.render(entry, 0.0)
            if self.sees(own):
                found.append((entry, "\n".join((own.text, *(one.text for one in others if self.sees(one))))))
        return found

    def list_names(self, entry: Entry) -> tuple[str, ...]:
        """The names of an entry that may be known, the main one first."""
        codex = self._view.snapshot(Codex)
        if not self._is_limited or codex is None:
            return entry.names
        known = (list_known_names(codex, entry, one, self._view.timeline) for one in self._vantages)
        return tuple(dict.fromkeys(name for names in known for name in names))


def map_readable(project: ProjectHandle) -> dict[tuple[ReadableKind, str], tuple[str, str]]:
    """Return the name and the words of everything that a principal may read, for telling when they have changed."""
    sight = _Sight(project, project.view)
    found: dict[tuple[ReadableKind, str], tuple[str, str]] = {
        ("chapter", one.id): (one.name, one.text) for one in sight.documents
    }
    found |= {("entry", entry.id): (entry.name, text) for entry, text in sight.list_entries()}
    if project.principal.grants.conversations:
        found |= {("recap", one.id): (one.name, one.text) for one in project.reading._load_recaps("")}
    return found


def list_readable_documents(project: ProjectHandle, view: View) -> list[Document]:
    """List the documents of a view that a principal may read, in reading order."""
    return _Sight(project, view).documents


def _list_documents(view: View) -> Sequence[Document]:
    return (view.snapshot(Manuscript) or Manuscript()).documents


def _show_document(document: Document, number: int | None) -> ReadableItem:
    return ReadableItem(kind="chapter", id=document.id, name=document.name, number=number, length=len(document.text))


def _show_entry(entry: Entry, text: str) -> ReadableItem:
    return ReadableItem(kind="entry", id=entry.id, name=entry.name, type=entry.type, length=len(text))


def _add_text(item: ReadableItem, text: str) -> ReadableText:
    return ReadableText(
        kind=item.kind, id=item.id, name=item.name, number=item.number, type=item.type, length=item.length, text=text
    )


def _load_recap(reading: ReadTransaction, ident: str, title: str, sight: _Sight) -> ReadableText:
    """Load what may be read of the summaries and recaps of a conversation, without those that a recap tells again."""
    attendance = load_attendance(reading, ident)
    told = sorted(
        editing.list_recaps(reading, ident), key=lambda one: one.kind == "summary"
    )  # recaps tell what is older
    texts = [
        one.text
        for one in told
        if not one.in_recap and sight.sees(Visibility("", known_to=find_recap_audience(one, attendance)))
    ]
    text = "\n\n".join(texts)
    return ReadableText(kind="recap", id=ident, name=title or get_document_id(ident), length=len(text), text=text)
