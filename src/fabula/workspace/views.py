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
from fabula.codex.facts import Facts
from fabula.context.options import AssemblyOptions
from fabula.conversation.cards import Cards
from fabula.conversation.model import Conversations
from fabula.conversation.participants import Participants
from fabula.conversation.recaps.snapshot import RecapSnapshot
from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.search.corpus import Corpus
from fabula.store.store import LOCAL_USER, ExpectedVersions, Store, expect_versions
from fabula.store.tables import projects as project_rows
from fabula.text.names.appearances import Appearances
from fabula.workspace.appearances import make_appearances
from fabula.workspace.facts import make_facts
from fabula.workspace.series_codex import SeriesCodex, load_series_codex, merge_series_codex
from fabula.workspace.view_loading import TEXT_FACTOR, ChangedItems, ConversationPart, add_corpus, load_part, load_view

MEGABYTE = 1_000_000
MAX_BYTES = 700 * MEGABYTE
CACHE_MEGABYTES = 100  # of token counts and measured fragments, which belong to no project and have bounds of their own
# What one process was measured to hold; `benchmarks.many_projects` prints estimate and measurement side by side.
PROJECT_BYTES = 150_000  # of a view beside its texts
INDEX_FACTOR = 12.0  # further bytes for each byte of text that is indexed
INDEXED_MESSAGE_FACTOR = 38.0  # bytes for each character of indexed messages, which the view itself does not hold
ENTRY_BYTES = 6_000  # of a codex entry with its names in the automaton, beside its texts


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
    expected: ExpectedVersions | None = None  # these versions with their owners, once somebody asked for them

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

    def find_ready(self, project_id: str, *, user: str = LOCAL_USER) -> tuple[View, ExpectedVersions] | None:
        """Return the cached view of a project with its versions, which are not compared with those of the store.

        None where the view, or the search index that prompts need, must be built.
        """
        cached = self._find((project_id, user), "")
        if cached is None:
            return None
        view, expected = cached.view, cached.expected
        if expected is None:
            others = tuple(cached.series.project_ids) if cached.series is not None else ()
            expected = cached.expected = expect_versions(project_id, user, others, cached.versions)
        corpus = view.snapshot(Corpus)
        if corpus is not None and corpus.built is None:
            options = view.snapshot(AssemblyOptions)
            return None if options is None or options.passages else (view, expected)
        return view, expected

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
                changes = ChangedItems(reading, None if cached is None else cached.versions[:2])
                load_conversation = partial(
                    load_part, reading, changes, versions, conversation, parts.get(conversation)
                )
                if old_view is not None and changes.since == versions:
                    people, cards = old_view.snapshot(Participants), old_view.snapshot(Cards)
                    own_view, part = old_view, load_conversation(old_view.project, people, cards)
                else:
                    own_view, part = load_view(reading, changes, old_view, load_conversation)
                    own_view = add_corpus(self.store, reading, changes, own_view, old_view, part)
        except FabulaError as error:
            if error.code is Code.PROJECT_NOT_FOUND:
                with self._lock:
                    self._cache.pop(key, None)
            raise
        series = load_series_codex(self.store, own_view, cached.series if cached is not None else None)
        if series is not None:
            versions = (*versions, *series.versions)
        if cached is not None and own_view is old_view and series is cached.series:
            view, composed = cached.view, dict(cached.composed)
        else:
            whole = own_view if series is None else merge_series_codex(own_view, series, cached)
            view, composed = _with_derived(whole, cached), {}
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


def _with_derived(view: View, cached: CachedView | None) -> View:
    """Add the facts and who appears where; they are those of the cached view where nothing changed there."""
    old_view = cached.view if cached is not None else None
    derived = {Facts: make_facts(view, old_view), Appearances: make_appearances(view, old_view)}
    return View(view.project, view.timeline, {**view.snapshots, **derived})


def _measure_texts(view: View) -> int:
    manuscript = view.snapshot(Manuscript) or Manuscript()
    return sum(getsizeof(document.text) for document in (*manuscript.documents, *manuscript.notes))


def _measure_codex(view: View) -> int:
    codex = view.snapshot(Codex)
    if codex is None:
        return 0
    return len(codex.entries) * ENTRY_BYTES + int(TEXT_FACTOR * codex.name_index.description_length)
