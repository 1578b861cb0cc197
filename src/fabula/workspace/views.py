"""A cache of views: each project of a store as one immutable object, rebuilt only where it changed.

A request asks the store for the versions of the project, of the user and of the project's series. If a cached view
was built at these versions, it is returned. Otherwise the change feed says which items changed. Only their snapshots
are read again; the new view shares all other snapshots with the old one, and with them everything computed from them
(token counts, the name matcher, rendered rules).

The view of a request has the messages of the conversation that it names, and of no other. They are cached beside the
view, so that any number of conversations can go on in one project: each is brought up to date when it is asked for.

What is cached is measured in bytes, by its texts and what is computed from them. Above the limit, what was used longest
ago is dropped: the messages of a conversation, or a whole project. The views of a removed project are dropped when it
is removed here, or when the next view is built.
"""

from __future__ import annotations

import operator
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import islice
from operator import itemgetter
from sys import getsizeof
from weakref import WeakMethod, WeakValueDictionary

from msgspec import Struct

from fabula.codex import Codex
from fabula.codex import edits as codex_service
from fabula.codex import snapshot as codex_rows
from fabula.codex.facts import Facts
from fabula.codex.series import merge_codexes
from fabula.constraints import Constraints
from fabula.constraints import edits as constraint_service
from fabula.constraints import snapshot as constraint_rows
from fabula.context.budget import BudgetProfile
from fabula.context.options import AssemblyOptions
from fabula.context.recipes.preset import Preset, UserProfile
from fabula.conversation import edits as conversation_service
from fabula.conversation import recent as recent_conversations
from fabula.conversation import snapshot as conversation_rows
from fabula.conversation.cards import Cards
from fabula.conversation.documents import DocumentConversations, load_document_conversations
from fabula.conversation.model import Conversations
from fabula.conversation.participant_texts import ParticipantTexts, load_participant_texts
from fabula.conversation.participants import Participants, load_participants
from fabula.conversation.recaps.snapshot import RecapSnapshot, load_recap_snapshot
from fabula.conversation.recaps.source import RecapOptions
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.core.story import Timeline, TimelineEntry, name_earlier_document
from fabula.core.view import Language, Project, View
from fabula.formats.lore.editing import parse_lorebook
from fabula.lorebook import snapshot as lorebook_rows
from fabula.lorebook.snapshot import Lorebooks
from fabula.manuscript import documents, projects
from fabula.manuscript import snapshot as manuscript_rows
from fabula.manuscript.model import Direction, Manuscript
from fabula.manuscript.series import SeriesBook, SeriesMembership, is_series, list_earlier_books
from fabula.memory import edits as memory_service
from fabula.memory import snapshot as memory_rows
from fabula.memory.model import Memory
from fabula.presets import edits as preset_service
from fabula.search.corpus import Corpus
from fabula.search.embeddings.choice import EMBEDDING_SETTING as EMBEDDING
from fabula.search.embeddings.choice import EmbeddingSetting
from fabula.settings import snapshot as setting_rows
from fabula.settings.tables import settings
from fabula.settings.values import read_values
from fabula.skills.files import Skills
from fabula.skills.project_skills import FolderSkills, load_project_skills, save_project_skill
from fabula.store.store import LOCAL_USER, Store
from fabula.store.tables import projects as project_rows
from fabula.store.transaction import ReadTransaction
from fabula.workspace.cards import load_cards
from fabula.workspace.facts import FactSettings, load_fact_settings, make_facts
from fabula.workspace.search_corpus import SEARCHED_AREAS, StoredConversations, make_corpus

MEGABYTE = 1_000_000
MAX_BYTES = 700 * MEGABYTE
CACHE_MEGABYTES = 100  # of token counts and measured fragments, which belong to no project and have bounds of their own
# What one process was measured to hold; `benchmarks.many_projects` prints estimate and measurement side by side.
PROJECT_BYTES = 150_000  # of a view beside its texts
TEXT_FACTOR = 2.5  # bytes for each byte of text, with paragraphs and token counts
INDEX_FACTOR = 12.0  # further bytes for each byte of text that is indexed
INDEXED_MESSAGE_FACTOR = 38.0  # bytes for each character of indexed messages, which the view itself does not hold
ENTRY_BYTES = 6_000  # of a codex entry with its names in the automaton, beside its texts
MESSAGE_BYTES = 1_500  # of a message with its fragment, beside its text


class EarlierBook(Struct, frozen=True):
    """A book that comes before in the order of a series: its own codex, and its documents without their texts."""

    book_id: str
    version: int
    codex: Codex
    documents: tuple[TimelineEntry, ...]


class SeriesCodex(Struct, frozen=True):
    """The codex that a series shares with a book, with the earlier books, and the versions at which they were read."""

    series_id: str
    version: int
    codex: Codex | None
    earlier: tuple[EarlierBook, ...] = ()

    @property
    def project_ids(self) -> tuple[str, ...]:
        """The projects whose versions decide whether this is current."""
        return self.series_id, *(book.book_id for book in self.earlier)

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of these projects."""
        return self.version, *(book.version for book in self.earlier)


class ConversationPart(Struct):
    """The newest messages and the recaps of one conversation, and the versions of project and user they are of."""

    versions: tuple[int, ...]
    project: Project
    conversations: Conversations
    recaps: RecapSnapshot
    size: int  # in bytes
    used: int = 0  # when it was last used


class CachedView(Struct):
    """A view, and the versions of project, user and series at which it was built."""

    versions: tuple[int, ...]
    view: View
    own_view: View  # without the codex of the series
    size: int  # in bytes, without the index and the conversations
    text_size: int  # of the manuscript
    parts: dict[str, ConversationPart]  # by conversation, of any version; the most recently used one is last
    parts_size: int
    composed: dict[str, View]  # with the messages of a conversation, at these versions
    series: SeriesCodex | None = None
    used: int = 0  # when it was last used

    def find(self, versions: tuple[int, ...], conversation: str) -> View | None:
        """Return the view with the messages of a conversation, if one is named; None if it is not current."""
        if self.versions != versions:
            return None
        return self.composed.get(conversation) if conversation else self.view

    def measure(self) -> int:
        """How many bytes the view takes now, with its conversations, and with its index if there is one."""
        corpus, size = self.own_view.snapshot(Corpus), self.size + self.parts_size
        if corpus is not None and corpus.built is not None:
            indexed_messages = INDEXED_MESSAGE_FACTOR * corpus.conversations.characters
            size += int(INDEX_FACTOR * self.text_size + indexed_messages)
        return size


class ProjectViews:
    """The cached views of a store's projects, shared by all threads."""

    def __init__(self, store: Store, *, max_bytes: int = MAX_BYTES) -> None:
        self.store = store
        self._max_bytes = max_bytes
        # by project and user; the most recently used view is last
        self._cache: OrderedDict[tuple[str, str], CachedView] = OrderedDict()
        self._lock = threading.Lock()
        self._use_count = 0
        self._build_locks: WeakValueDictionary[tuple[str, str], threading.Lock] = WeakValueDictionary()
        drop = WeakMethod(self._drop_removed_projects)  # the store outlives the views
        store.hooks.add_after_commit(project_rows, lambda: _call(drop))

    def view(self, project_id: str, *, user: str = LOCAL_USER, conversation: str = "") -> View:
        """Return the current view of a project, with the messages of a conversation, if one is named."""
        key = (project_id, user)
        cached = self._find(key, conversation)
        series = cached.series if cached is not None else None
        others = series.project_ids if series is not None else ()
        versions = self.store.versions(project=project_id, user=user, others=others)
        found = cached.find(versions, conversation) if cached is not None else None
        if found is not None:
            return found
        self._drop_removed_projects(except_for=project_id)
        with self._lock:
            build_lock = self._build_locks.setdefault(key, threading.Lock())
        with build_lock:
            cached = self._find(key, conversation)
            found = cached.find(versions, conversation) if cached is not None else None
            if found is None:
                cached = self._build(key, cached, conversation)
                self._insert(key, cached, conversation)
                found = cached.composed[conversation] if conversation else cached.view
        return found

    def find_current(self, project_id: str, *, user: str = LOCAL_USER) -> View | None:
        """Return the cached view of a project; None where it would have to be built."""
        cached = self._find((project_id, user), "")
        if cached is None:
            return None
        others = cached.series.project_ids if cached.series is not None else ()
        return cached.find(self.store.versions(project=project_id, user=user, others=others), "")

    @property
    def size(self) -> int:
        """How many bytes all that is cached takes, by estimate."""
        with self._lock:
            return self._measure_all()

    @property
    def project_count(self) -> int:
        """How many projects are cached."""
        with self._lock:
            return len(self._cache)

    def _drop_removed_projects(self, *, except_for: str = "") -> None:
        """Drop the views of projects that are gone, whoever removed them."""
        with self._lock:
            cached = {project_id for project_id, _ in self._cache if project_id != except_for}
        removed = cached.difference(self.store.project_ids()) if cached else cached
        if removed:
            with self._lock:
                for key in [key for key in self._cache if key[0] in removed]:
                    del self._cache[key]

    def _find(self, key: tuple[str, str], conversation: str) -> CachedView | None:
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                self._use_count += 1
                cached.used = self._use_count
                self._cache.move_to_end(key)
                part = cached.parts.pop(conversation, None)
                if part is not None:
                    part.used = self._use_count
                    cached.parts[conversation] = part
            return cached

    def _build(self, key: tuple[str, str], cached: CachedView | None, conversation: str) -> CachedView:
        """Read what changed since the cached view was built, and share the rest with it."""
        project_id, user = key
        parts = cached.parts if cached is not None else {}
        old_view = cached.own_view if cached is not None else None
        try:
            with self.store.read(project=project_id, user=user) as reading:
                versions: tuple[int, ...] = reading.version("project"), reading.version("user")
                changes = _ChangedItems(reading, None if cached is None else cached.versions[:2])
                load_part = partial(_load_part, reading, changes, versions, conversation, parts.get(conversation))
                if old_view is not None and changes.since == versions:
                    own_view, part = old_view, load_part(old_view.project, old_view.snapshot(Participants))
                else:
                    own_view, part = _load_view(reading, changes, old_view, load_part)
                    own_view = self._with_corpus(reading, changes, own_view, old_view, part)
        except FabulaError as error:
            if error.code is Code.PROJECT_NOT_FOUND:
                with self._lock:
                    self._cache.pop(key, None)
            raise
        series = self._load_series_codex(own_view, cached.series if cached is not None else None)
        if series is not None:
            versions = (*versions, *series.versions)
        if cached is not None and own_view is old_view and series is cached.series:
            view, composed = cached.view, dict(cached.composed)
        else:
            whole = own_view if series is None else _with_series_codex(own_view, series, cached)
            view, composed = _with_facts(whole, cached), {}
        parts_size = cached.parts_size if cached is not None else 0
        if part is not None:
            snapshots = {**view.snapshots, Conversations: part.conversations, RecapSnapshot: part.recaps}
            composed[conversation] = View(view.project, view.timeline, snapshots)
            with self._lock:
                known = parts.get(conversation)
                parts_size += part.size - (known.size if known is not None else 0)
                parts[conversation] = part
        text_size = _measure_texts(view)
        size = PROJECT_BYTES + int(TEXT_FACTOR * text_size) + _measure_codex(view)
        return CachedView(versions, view, own_view, size, text_size, parts, parts_size, composed, series)

    def _with_corpus(
        self,
        reading: ReadTransaction,
        changes: _ChangedItems,
        view: View,
        old_view: View | None,
        part: ConversationPart | None,
    ) -> View:
        """Add the search corpus to a view; the view shares the old corpus if none of its texts changed."""
        loaded = part.conversations if part is not None else None
        old_corpus = old_view.snapshot(Corpus) if old_view is not None else None
        stored = old_view.snapshot(StoredConversations) if old_view is not None else None
        if stored is None or old_corpus is None:
            stored = StoredConversations(self.store, view.project.id)
            texts = stored.size(reading, loaded)
        elif any(area in changes for area in SEARCHED_AREAS):
            stored = stored.after_changes(changes.items("conversation"))
            texts = stored.size(reading, loaded)
        elif "manuscript" in changes:
            texts = old_corpus.conversations
        else:
            return view
        corpus = make_corpus(view.project.id, view.snapshot(Manuscript) or Manuscript(), texts, old_corpus)
        return View(view.project, view.timeline, {**view.snapshots, Corpus: corpus, StoredConversations: stored})

    def _load_series_codex(self, own_view: View, old: SeriesCodex | None) -> SeriesCodex | None:
        """Load the codex of the series that a book belongs to, and those of its earlier books; nothing else of them."""
        membership = own_view.snapshot(SeriesMembership)
        if membership is None:
            return None
        series_id = membership.series
        old = old if old is not None and old.series_id == series_id else None
        with self.store.read(project=series_id) as reading:
            version = reading.version("project")
            if not is_series(reading):
                return SeriesCodex(series_id, version, None)
            codex = _load_other_codex(reading, series_id, own_view.project.language, old)
        known = {book.book_id: book for book in old.earlier} if old is not None else {}
        earlier = tuple(
            self._load_earlier_book(own_view, book, known.get(book.id))
            for book in list_earlier_books(self.store, series_id, own_view.project.id)
        )
        loaded = SeriesCodex(series_id, version, codex, earlier)
        return old if old is not None and old == loaded else loaded

    def _load_earlier_book(self, own_view: View, book: SeriesBook, old: EarlierBook | None) -> EarlierBook:
        """Load what a later book knows of an earlier one: its own codex, and which documents it has."""
        with self.store.read(project=book.id) as reading:
            version = reading.version("project")
            if old is not None and old.version == version:
                return old
            codex = _load_other_codex(reading, book.id, own_view.project.language, old)
            documents = tuple(
                TimelineEntry(name_earlier_document(book.id, row.id), title=f"{book.title}: {row.title}")
                for row in manuscript_rows.list_story_documents(reading)
            )
        same = old is not None and old.documents == documents
        return EarlierBook(book.id, version, codex, old.documents if old is not None and same else documents)

    def _insert(self, key: tuple[str, str], cached: CachedView, conversation: str) -> None:
        """Put a view into the cache, and drop what was used longest ago while all of it is over the limit."""
        with self._lock:
            self._use_count += 1
            cached.used = self._use_count
            if conversation:
                cached.parts[conversation].used = self._use_count
            self._cache[key] = cached
            self._cache.move_to_end(key)
            total = self._measure_all()
            while total > self._max_bytes and (dropped := self._drop_oldest()):
                total -= dropped

    def _measure_all(self) -> int:
        return sum(cached.measure() for cached in self._cache.values())

    def _drop_oldest(self) -> int:
        """Drop what was used longest ago, but not last: a conversation, or a project; return its bytes, or 0."""
        key, oldest = next(iter(self._cache.items()))
        first_parts = (
            (part.used, name, one) for one in self._cache.values() for name, part in islice(one.parts.items(), 1)
        )
        used, name, owner = min(first_parts, default=(self._use_count, "", oldest), key=itemgetter(0))
        if used < self._use_count and used <= oldest.used:
            owner.composed.pop(name, None)
            size = owner.parts.pop(name).size
            owner.parts_size -= size
            return size
        if oldest.used < self._use_count:
            return self._cache.pop(key).measure()
        return 0


def _call(method: WeakMethod[Callable[..., None]]) -> None:
    """Call a method, if its object still exists."""
    bound = method()
    if bound is not None:
        bound()


def _with_facts(view: View, cached: CachedView | None) -> View:
    """Add the facts to a view; they are those of the cached view where nothing changed that they come from."""
    facts = make_facts(view, cached.view if cached is not None else None)
    return View(view.project, view.timeline, {**view.snapshots, Facts: facts})


def _with_series_codex(own_view: View, series: SeriesCodex, cached: CachedView | None) -> View:
    """Merge what the series shares into a book's view; codex and timeline are reused if nothing of theirs changed."""
    own_codex = own_view.snapshot(Codex)
    merged = cached.view.snapshot(Codex) if cached is not None else None
    if own_codex is None or series.codex is None:
        return own_view
    old = cached.series if cached is not None else None
    old_parts = None if old is None else (old.codex, *(book.codex for book in old.earlier))
    parts = (series.codex, *(book.codex for book in series.earlier))
    is_same = old_parts is not None and len(old_parts) == len(parts) and all(map(operator.is_, old_parts, parts))
    if cached is None or merged is None or not is_same or cached.own_view.snapshot(Codex) is not own_codex:
        fresh = merge_codexes(series.codex, own_codex, [(book.book_id, book.codex) for book in series.earlier])
        merged = fresh if merged is None else fresh.reuse_matcher(merged)
    return View(own_view.project, _with_earlier(own_view, series, cached), {**own_view.snapshots, Codex: merged})


def _with_earlier(own_view: View, series: SeriesCodex, cached: CachedView | None) -> Timeline:
    """Return the timeline of a book after the documents of the earlier ones."""
    if not series.earlier:
        return own_view.timeline
    old = cached.series if cached is not None else None
    same_books = old is not None and [one.documents for one in old.earlier] == [one.documents for one in series.earlier]
    if cached is not None and same_books and cached.own_view.timeline is own_view.timeline:
        return cached.view.timeline
    documents = {one.document: one for book in series.earlier for one in book.documents}
    return Timeline(own_view.timeline.entries, earlier=documents)


def _load_other_codex(
    reading: ReadTransaction, project_id: str, language: Language, old: SeriesCodex | EarlierBook | None
) -> Codex:
    """Load the codex of another project of a series; without the timeline, whose positions are not the book's."""
    old_codex = old.codex if old is not None else None
    changes = reading.changes("project", old.version) if old is not None else None
    items = None if changes is None else frozenset(change.item for change in changes if change.area == "codex")
    if old_codex is not None and items is not None and not items:
        return old_codex
    return codex_rows.load(reading, project_id, language, Timeline(), old_codex, items)


def _measure_texts(view: View) -> int:
    manuscript = view.snapshot(Manuscript) or Manuscript()
    return sum(getsizeof(document.text) for document in (*manuscript.documents, *manuscript.notes))


def _measure_codex(view: View) -> int:
    codex = view.snapshot(Codex)
    if codex is None:
        return 0
    return len(codex.entries) * ENTRY_BYTES + int(TEXT_FACTOR * codex.name_index.description_length)


class _ChangedItems:
    """The items that changed since a view was built, by area; `area in changes` if any of an area did."""

    def __init__(self, reading: ReadTransaction, versions: tuple[int, ...] | None) -> None:
        """`versions` of project and user at which it was built; None if it was not."""
        self.since = versions
        self._everything = versions is None
        self._items: dict[str, set[str]] = {}
        if versions is not None:
            project_changes = reading.changes("project", versions[0])
            user_changes = reading.changes("user", versions[1])
            if project_changes is None or user_changes is None:  # the feed does not reach back that far
                self._everything = True
            else:
                for change in (*project_changes, *user_changes):
                    self._items.setdefault(change.area, set()).add(change.item)

    def __contains__(self, area: str) -> bool:
        return self._everything or area in self._items

    def items(self, area: str) -> frozenset[str] | None:
        """Return the changed items of an area; None for all of them."""
        return None if self._everything else frozenset(self._items.get(area, ()))


def _load_part(
    reading: ReadTransaction,
    known: _ChangedItems,
    versions: tuple[int, ...],
    conversation: str,
    old: ConversationPart | None,
    project: Project,
    people: Participants | None,
) -> ConversationPart | None:
    """Load the messages and recaps of a conversation; None where none is named. `known` are changes that were read."""
    if not conversation:
        return None
    since = None if old is None else old.versions
    changes = known if known.since == since else _ChangedItems(reading, since)
    conversations, recaps = (old.conversations, old.recaps) if old is not None else (None, None)
    if conversations is None or "conversation" in changes or "people" in changes:
        conversations = conversation_rows.load_conversations(
            reading, project.id, frozenset({conversation}), conversations, changes.items("conversation"), people
        )
    is_same = old is not None and "people" not in changes and project == old.project
    if recaps is None or not is_same or "conversation" in changes or "recaps" in changes:
        recaps = load_recap_snapshot(
            reading,
            project,
            conversations,
            people or Participants(),
            recaps if is_same else None,
            changes.items("recaps"),
            changes.items("conversation"),
        )
    messages = conversations.messages.get(conversation, ())
    text_size = sum(map(getsizeof, [one.content for one in messages]))
    size = MESSAGE_BYTES * (len(messages) + 1) + int(TEXT_FACTOR * text_size)
    return ConversationPart(versions, project, conversations, recaps, size)


def _load_view(
    reading: ReadTransaction,
    changes: _ChangedItems,
    old_view: View | None,
    load_part: Callable[[Project, Participants | None], ConversationPart | None],
) -> tuple[View, ConversationPart | None]:
    """Load a view at one version, and a conversation; the view shares every unchanged snapshot with the old one.

    The snapshot of something that a project does not have is None.
    """
    old = old_view or View(Project(id=""))
    snapshots = dict(old.snapshots)
    project, timeline = old.project, old.timeline
    if "project" in changes:
        project, snapshots[Direction], series = projects.load_project(reading)
        snapshots[SeriesMembership] = None if series is None else SeriesMembership(series)
    if "manuscript" in changes:
        manuscript = manuscript_rows.load_manuscript(reading, old.snapshot(Manuscript), changes.items("manuscript"))
        snapshots[Manuscript] = manuscript
        new_timeline = manuscript.timeline()
        if new_timeline.entries != timeline.entries:  # else what was computed from the old one stays valid
            timeline = new_timeline
    # Codex entries depend on the timeline (progressions hold from a chapter on) and on the project's language.
    old_codex = old.snapshot(Codex)
    depth = old_codex.relation_depth if old_codex is not None else None
    if "settings" in changes:
        values = read_values(reading)
        depth = values.get_override("codex.relationDepth")
        embedding = values.get_override(EMBEDDING)
        snapshots[EmbeddingSetting] = None if embedding is None else EmbeddingSetting(embedding)
        snapshots[AssemblyOptions] = setting_rows.make_options(values, old.snapshot(AssemblyOptions))
        snapshots[BudgetProfile] = setting_rows.load_profile(reading, old.snapshot(BudgetProfile))
        snapshots[RecapOptions] = RecapOptions(
            tells_recaps=values["History.Recaps"],
            latest_recaps=values["History.LatestRecaps"],
            relevant_history=values["History.RelevantHistory"],
        )
        snapshots[FactSettings] = load_fact_settings(reading, values["codex.factsPerEntry"])
        snapshots[Skills] = load_project_skills({row.name: row.value for row in reading.rows(settings)})
    if (
        "codex" in changes
        or timeline is not old.timeline
        or project != old.project
        or old_codex is None
        or depth != old_codex.relation_depth
    ):
        snapshots[Codex] = codex_rows.load(
            reading,
            project.id,
            project.language,
            timeline,
            old_codex,
            changes.items("codex"),
            relation_depth=depth,
        )
    if "constraints" in changes:
        snapshots[Constraints] = constraint_rows.load(
            reading, project.id, old.snapshot(Constraints), changes.items("constraints")
        )
    if "memory" in changes or project != old.project:
        snapshots[Memory] = memory_rows.load_memory(reading, project, old.snapshot(Memory))
    if "profile" in changes:
        snapshots[UserProfile] = memory_rows.load_profile(reading)
    if "presets" in changes:
        snapshots[Preset] = preset_service.load_active(reading, old.snapshot(Preset))
    if "lorebook" in changes:
        snapshots[Lorebooks] = lorebook_rows.load_lorebooks(
            reading, project.id, parse_lorebook, old.snapshot(Lorebooks), changes.items("lorebook")
        )
    if "conversation" in changes:
        snapshots[DocumentConversations] = load_document_conversations(
            reading, old.snapshot(DocumentConversations), changes.items("conversation")
        )
    if "people" in changes:
        snapshots[Participants] = load_participants(reading)
        snapshots[ParticipantTexts] = load_participant_texts(reading)
    if "people" in changes or "lorebook" in changes:
        snapshots[Cards] = load_cards(reading, snapshots.get(Participants), old.snapshot(Cards))
    part = load_part(project, snapshots.get(Participants))
    if "conversation" in changes or project != old.project:
        snapshots[recent_conversations.RecentConversations] = recent_conversations.load_recent_conversations(
            reading,
            project,
            old.snapshot(recent_conversations.RecentConversations),
            part.conversations if part is not None else None,
        )
    if old_view is None:
        snapshots[Conversations] = Conversations(project.id, {})
        snapshots[RecapSnapshot] = RecapSnapshot()
    return View(project, timeline, snapshots), part


def copy_view(store: Store, view: View, *, title: str = "", project_id: str | None = None) -> str:
    """Copy everything in a view into a new project of the store, in one transaction; return the project's id."""
    ident = project_id or new_id()
    project = view.project
    label = message("new project: {title}", title=title or project.title or project.id)
    with store.write(project=ident, undo_label=label) as tx:
        projects.insert(
            tx,
            ident,
            title=title or project.title or project.id,
            language=project.language,
            identity=projects.store_identity(project.identity),
            direction=view.snapshot(Direction),
        )
        documents.copy_manuscript(tx, view.snapshot(Manuscript) or Manuscript())
        if (codex := view.snapshot(Codex)) is not None:
            codex_service.put_all(tx, codex.entries)
        if (constraints := view.snapshot(Constraints)) is not None:
            constraint_service.put_all(tx, constraints.constraints)
        if (memory := view.snapshot(Memory)) is not None:
            memory_service.save_snapshot(tx, memory)
        if (conversations := view.snapshot(Conversations)) is not None:
            conversation_service.save_conversations(tx, conversations)
        if (preset := view.snapshot(Preset)) is not None:
            preset_service.put(tx, project.title or ident, preset, active=True)
        if (folder_skills := view.snapshot(FolderSkills)) is not None:
            for name, text in folder_skills.texts.items():
                save_project_skill(tx, name, text)
    return ident
