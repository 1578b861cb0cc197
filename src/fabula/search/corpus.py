"""The corpus: all texts of a project that can be searched, and their index, built when it is first needed.

A corpus is part of a view and never changes; the next one shares with it whatever stayed the same. A small project is
indexed while the first request waits, which takes a few milliseconds. A large one is indexed in the background, and
until then requests get a warning. After an edit the next request updates the index, paragraph by paragraph. In a long
book that is done in the background too, and until then requests use the index before, without what has changed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile

from msgspec import Struct

from fabula.core.background import WAITING, start_in_background, work_on
from fabula.search.index import disk_cache
from fabula.search.index.index import SearchIndex
from fabula.search.index.inverted_index import count_postings
from fabula.search.index.passages import DocumentText, count_new_characters, cut_into_passages
from fabula.search.model import SearchDocument

log = logging.getLogger("fabula.search")

IMMEDIATE_CHARACTERS = 120_000  # that are indexed while a request waits
IMMEDIATE_PASSAGES = 15_000  # in an index that is updated while a request waits
UPDATE_PAUSE = 1.0  # seconds for which edits gather before the index of a long book is updated
MIN_NEW_SHARE = 0.1  # of all characters that must be new for the cache file to be written again
CONVERSATION_PREFIX = "talk:"  # of the ids of documents that are conversations
PARTICIPANT_TEXTS = "kept"  # what stands behind `#` in the id of a document with the texts of a participant

Progress = Callable[[int, int], None]  # characters done, characters in all
CutTexts = Mapping[str, tuple[DocumentText, SearchDocument]]  # by document id
Outdated = Mapping[str, int]  # of documents that changed since an index was built: how many passages stayed, by id
NOTHING_OUTDATED: Outdated = {}


class ConversationTexts(Struct, frozen=True):
    """Messages and other texts that are no manuscript documents: how many characters, and how to read them."""

    characters: int
    read_documents: Callable[[], Sequence[SearchDocument]]


NO_CONVERSATIONS = ConversationTexts(0, tuple)


class UsableIndex(Struct, frozen=True):
    """An index that requests can use, and what changed since it was built."""

    index: SearchIndex
    outdated: Outdated = NOTHING_OUTDATED


class Corpus:
    """The documents and conversations of a project to be searched."""

    def __init__(
        self,
        project_id: str,
        texts: Iterable[DocumentText] = (),
        conversations: ConversationTexts = NO_CONVERSATIONS,
        previous: Corpus | None = None,
        *,
        immediate_characters: int = IMMEDIATE_CHARACTERS,
        immediate_passages: int = IMMEDIATE_PASSAGES,
    ) -> None:
        """`previous` is the corpus of the previous view, if there was one."""
        self.project_id = project_id
        self.texts = tuple(texts)
        self.conversations = conversations
        self.built: SearchIndex | None = None
        self.is_done = threading.Event()  # building in the background, with or without success
        self.immediate_characters = immediate_characters
        self.immediate_passages = immediate_passages
        self._new_characters: tuple[int, int] | None = None  # the number of a build, and the characters new since it
        self._cut_texts: CutTexts | None = None
        self._usable: tuple[int, UsableIndex] | None = None  # the number of a build, and what can be used of it
        self._builder = _IndexBuilder()
        if previous is not None and previous.project_id == project_id:
            self._builder = previous._builder

    def get_index(self, *, wait_seconds: float = 0.0) -> SearchIndex | None:
        """The index, if it is built or can be built at once; None while it is built in the background.

        With `wait_seconds` the caller waits so long for one that is built in the background.
        """
        if self.built is not None:
            return self.built
        builder = self._builder
        if self._count_characters() <= self.immediate_characters:
            with builder.lock:
                return self.build(None)
        builder.raise_failure()
        self.is_done.clear()
        builder.build_later(self)
        if wait_seconds:
            with WAITING:
                is_done = self.is_done.wait(wait_seconds)
            return self.get_index() if is_done else None
        return None

    def get_usable_index(self, *, wait_seconds: float = 0.0) -> UsableIndex | None:
        """The index, or in a long book the latest one with what is outdated in it; None while there is neither.

        After an edit the index of a long book takes longer to update than a request may take. It is updated in the
        background, together with the edits that follow.
        """
        if self.built is None:
            latest, builds = self._builder.latest, self._builder.build_count
            is_long = latest is not None and len(latest.passages) > self.immediate_passages
            if latest is not None and is_long and self._count_characters() <= self.immediate_characters:
                self._builder.raise_failure()
                self._builder.build_later(self, pause=UPDATE_PAUSE)
                usable = self._usable
                if usable is None or usable[0] != builds:
                    usable = self._usable = builds, UsableIndex(latest, find_outdated(latest, self.list_documents()))
                return usable[1]
        index = self.get_index(wait_seconds=wait_seconds)
        return None if index is None else UsableIndex(index)

    def build_index(self, progress: Progress | None = None) -> SearchIndex:
        """The index, however long it takes to build."""
        if self.built is not None:
            return self.built
        with self._builder.lock:
            return self.build(progress)

    @property
    def progress(self) -> tuple[int, int]:
        """How many characters are indexed, and how many there are, while an index is built."""
        return self._builder.progress

    def count_new_characters(self) -> int:
        """How many characters the latest index does not know."""
        builder, new = self._builder, 0
        for text in self.texts:
            old = builder.cut_texts.get(text.id)
            new += count_new_characters(old[0].text if old is not None else "", text.text)
        return new + max(self.conversations.characters - builder.conversation_characters, 0)

    def cut_texts(self, after_each: Callable[[], None] = work_on) -> CutTexts:
        """The texts cut into passages, once; whatever stayed the same is taken from the latest index."""
        with self._builder.hold_cut_lock():
            if self._cut_texts is None:
                known, cut = self._builder.cut_texts, {}
                for text in self.texts:
                    cut[text.id] = _cut(text, known.get(text.id), after_each)
                    after_each()
                self._cut_texts = cut
            return self._cut_texts

    def list_documents(self) -> list[SearchDocument]:
        """All texts and conversations as search documents."""
        cut_texts = self.cut_texts()
        with self._builder.hold_cut_lock():
            said = self.conversations.read_documents()
        return [*(document for _, document in cut_texts.values()), *said]

    def build(self, progress: Progress | None, after_each: Callable[[], None] = work_on) -> SearchIndex:
        """Build the index unless it is built; the caller has the lock of the builder."""
        if self.built is None:
            self.built = self._builder.build(self, progress, after_each)
            self._usable = None
        return self.built

    def _count_characters(self) -> int:
        builds, known = self._builder.build_count, self._new_characters
        if known is None or known[0] != builds:
            known = self._new_characters = builds, self.count_new_characters()
        return known[1]


def find_outdated(index: SearchIndex, documents: Iterable[SearchDocument]) -> Outdated:
    """The documents of an index that are no longer as they were, and how many first passages of each still are."""
    current = {document.id: document.passages for document in documents}
    outdated: dict[str, int] = {}
    for document in index.documents:
        passages = current.get(document.id, ())
        if passages is not document.passages:
            pairs = zip(document.passages, passages, strict=False)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            if same < len(document.passages):
                outdated[document.id] = same
    return outdated


class _IndexBuilder:
    """Builds the indexes of one project; shared by its corpora. `lock` is held while an index is built."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._cut_lock = threading.Lock()
        self.progress = (0, 0)
        self.latest: SearchIndex | None = None
        self.build_count = 0
        self.cut_texts: CutTexts = {}  # of the latest index
        self.conversation_characters = 0
        self._failure: Exception | None = None  # of building in the background, until a request has raised it
        self._background_lock = threading.Lock()
        self._wanted: Corpus | None = None  # to be built in the background next
        self._is_running = False

    @contextmanager
    def hold_cut_lock(self) -> Iterator[None]:
        """Hold the lock under which texts are cut; whoever waits for it is not given way to."""
        with WAITING:
            self._cut_lock.acquire()
        try:
            yield
        finally:
            self._cut_lock.release()

    def raise_failure(self) -> None:
        """Raise what went wrong in the background, once."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def build_later(self, corpus: Corpus, *, pause: float = 0.0) -> None:
        """Build the index of a corpus in the background, unless a later one takes its place within the pause."""
        with self._background_lock:
            if self._wanted is not None and self._wanted is not corpus:
                self._wanted.is_done.set()
            self._wanted = corpus
            if self._is_running:
                return
            self._is_running = True
        start_in_background(lambda give_way: self._build_wanted(pause, give_way), "search-index")

    def _build_wanted(self, pause: float, give_way: Callable[[], None]) -> None:
        while True:
            time.sleep(pause)
            with self._background_lock:
                corpus, self._wanted = self._wanted, None
                if corpus is None:
                    self._is_running = False
                    return
            try:
                with self.lock:
                    corpus.build(None, give_way)
            except Exception as error:
                log.warning("the search index of %s could not be made: %s", corpus.project_id, type(error).__name__)
                self._failure = error
            corpus.is_done.set()

    def build(self, corpus: Corpus, progress: Progress | None, after_each: Callable[[], None]) -> SearchIndex:
        """The index of a corpus, made from the latest one and from the cache file as far as they go."""
        cut_texts = corpus.cut_texts(after_each)
        index = self._index(corpus, corpus.list_documents(), progress, after_each)
        self.cut_texts, self.conversation_characters = cut_texts, corpus.conversations.characters
        self.latest = index
        self.build_count += 1
        return index

    def _index(
        self,
        corpus: Corpus,
        documents: Sequence[SearchDocument],
        progress: Progress | None,
        after_each: Callable[[], None],
    ) -> SearchIndex:
        """The index of documents; only a large amount of new text is worth the cache file."""
        previous = self.latest
        if corpus.count_new_characters() <= corpus.immediate_characters:
            return SearchIndex(documents, previous, after_each=after_each)
        known = previous.by_id if previous is not None else {}
        new = [document for document in documents if known.get(document.id) is not document]
        postings, cache_error = disk_cache.read_postings(corpus.project_id, new, after_each)
        missing = [document for document in new if document.id not in postings]
        done, total = 0, sum(map(_measure, missing))
        for document in missing:
            old = known.get(document.id)
            old_postings = previous.postings.get(document.id) if previous is not None else None
            postings[document.id] = count_postings(document, old, old_postings, after_each)
            done += _measure(document)
            self.progress = (done, total)
            if progress is not None:
                progress(done, total)
        index = SearchIndex(documents, previous, postings, after_each)
        if total > MIN_NEW_SHARE * sum(map(_measure, documents)):
            unwritten = disk_cache.write_postings(corpus.project_id, documents, index.postings, after_each)
            cache_error = unwritten or cache_error
        index.cache_error = cache_error
        return index


def _cut(
    text: DocumentText, previous: tuple[DocumentText, SearchDocument] | None, after_each: Callable[[], None]
) -> tuple[DocumentText, SearchDocument]:
    if previous is not None and previous[0] == text:
        return previous
    return text, cut_into_passages(text, previous, after_each)


def _measure(document: SearchDocument) -> int:
    return sum(len(passage.text) for passage in document.passages)
