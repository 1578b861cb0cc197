"""The corpus: all texts of a project that can be searched, and their index, built when it is first needed.

A corpus is part of a view and never changes; the next one shares with it whatever stayed the same. A small project is
indexed while the first request waits, which takes a few milliseconds. A large one is indexed in the background, and
until then requests get a warning. After an edit the next request updates the index, paragraph by paragraph.
"""

from __future__ import annotations

import logging
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.search.index import disk_cache
from fabula.search.index.index import SearchIndex
from fabula.search.index.inverted_index import count_postings
from fabula.search.index.passages import DocumentText, count_new_characters, cut_into_passages
from fabula.search.model import SearchDocument

log = logging.getLogger("fabula.search")

IMMEDIATE_CHARACTERS = 120_000  # that are indexed while a request waits
MIN_NEW_SHARE = 0.1  # of all characters that must be new for the cache file to be written again
CONVERSATION_PREFIX = "talk:"  # of the ids of documents that are conversations

Progress = Callable[[int, int], None]  # characters done, characters in all
CutTexts = Mapping[str, tuple[DocumentText, SearchDocument]]  # by document id


class ConversationTexts(Struct, frozen=True):
    """Messages and other texts that are no manuscript documents: how many characters, and how to read them."""

    characters: int
    read_documents: Callable[[], Sequence[SearchDocument]]


NO_CONVERSATIONS = ConversationTexts(0, tuple)


class BuiltIndex(Struct, frozen=True, eq=False):
    """A finished index with what is needed to search it and to build the next one from it."""

    index: SearchIndex
    cut_texts: CutTexts
    conversation_characters: int
    cache_error: str  # why the cache folder could not be used
    first_numbers: Sequence[int]  # the number of each document's first passage
    passage_ends: NDArray[np.int64]  # where each passage ends in its document
    passage_counts: NDArray[np.int64]  # of each document
    # caches: the rendered text and title of passages by language, their words, their signatures, and search masks
    rendered_passages: dict[tuple[int, str], tuple[str, str]] = {}
    passage_words: dict[int, dict[int, str]] = {}
    signatures: dict[int, NDArray[np.uint64]] = {}
    masks: dict[tuple[object, ...], NDArray[np.bool_]] = {}

    def document_of(self, number: int) -> SearchDocument:
        """The document of the passage with this number."""
        return self.index.documents[bisect_right(self.first_numbers, number) - 1]


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
    ) -> None:
        """`previous` is the corpus of the previous view, if there was one."""
        self.project_id = project_id
        self.texts = tuple(texts)
        self.conversations = conversations
        self.built: BuiltIndex | None = None
        self.immediate_characters = immediate_characters
        self._new_characters: tuple[BuiltIndex | None, int] | None = None  # relative to an index
        self._builder = _IndexBuilder()
        if previous is not None and previous.project_id == project_id:
            self._builder = previous._builder

    def get_index(self) -> BuiltIndex | None:
        """The index, if it is built or can be built at once; None while it is built in the background."""
        if self.built is not None:
            return self.built
        builder = self._builder
        latest, known = builder.latest, self._new_characters
        if known is None or known[0] is not latest:
            known = self._new_characters = latest, self._count_new_characters(latest)
        if known[1] <= self.immediate_characters:
            with builder.lock:
                return self._build(None)
        failure, builder.failure = builder.failure, None
        if failure is not None:
            raise failure
        if builder.lock.acquire(blocking=False):
            threading.Thread(target=self._build_in_background, name="search-index", daemon=True).start()
        return None

    def build_index(self, progress: Progress | None = None) -> BuiltIndex:
        """The index, however long it takes to build."""
        if self.built is not None:
            return self.built
        with self._builder.lock:
            return self._build(progress)

    @property
    def progress(self) -> tuple[int, int]:
        """How many characters are indexed, and how many there are, while an index is built."""
        return self._builder.progress

    def _build_in_background(self) -> None:
        builder = self._builder
        try:
            self._build(None)
        except Exception as error:
            log.warning("the search index of %s could not be made: %s", self.project_id, type(error).__name__)
            builder.failure = error
        finally:
            builder.lock.release()

    def _count_new_characters(self, latest: BuiltIndex | None) -> int:
        known: CutTexts = latest.cut_texts if latest is not None else {}
        new = 0
        for text in self.texts:
            old = known.get(text.id)
            new += count_new_characters(old[0].text if old is not None else "", text.text)
        indexed = latest.conversation_characters if latest is not None else 0
        return new + max(self.conversations.characters - indexed, 0)

    def _build(self, progress: Progress | None) -> BuiltIndex:
        if self.built is None:
            self.built = self._builder.latest = self._builder.build(self, progress)
        return self.built


class _IndexBuilder:
    """Builds the indexes of one project; shared by its corpora. `lock` is held while an index is built."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.progress = (0, 0)
        self.latest: BuiltIndex | None = None
        self.failure: Exception | None = None  # of building in the background, until a request has raised it

    def build(self, corpus: Corpus, progress: Progress | None) -> BuiltIndex:
        """The index of a corpus, made from the latest one and from the cache file as far as they go."""
        known: CutTexts = self.latest.cut_texts if self.latest is not None else {}
        cut_texts = {text.id: _cut(text, known.get(text.id)) for text in corpus.texts}
        documents = [*(document for _, document in cut_texts.values()), *corpus.conversations.read_documents()]
        index, cache_error = self._index(corpus, documents, progress)
        return BuiltIndex(
            index,
            cut_texts,
            corpus.conversations.characters,
            cache_error,
            [*index.first_passages.values()],
            np.fromiter((passage.end for passage in index.passages), np.int64, len(index.passages)),
            np.array([len(document.passages) for document in documents], np.int64),
        )

    def _index(
        self, corpus: Corpus, documents: Sequence[SearchDocument], progress: Progress | None
    ) -> tuple[SearchIndex, str]:
        """The index, and an error of the cache file; only a large amount of new text is worth that file."""
        previous = self.latest.index if self.latest is not None else None
        known = {document.id: document for document in previous.documents} if previous is not None else {}
        new = [document for document in documents if known.get(document.id) is not document]
        size = sum(count_changed_characters(known.get(document.id), document) for document in new)
        if size <= corpus.immediate_characters:
            return SearchIndex(documents, previous), ""
        postings, cache_error = disk_cache.read_postings(corpus.project_id, new)
        missing = [document for document in new if document.id not in postings]
        done, total = 0, sum(_measure(document) for document in missing)
        for document in missing:
            old = known.get(document.id)
            old_postings = previous.postings[document.id] if previous is not None and old is not None else None
            postings[document.id] = count_postings(document, old, old_postings)
            done += _measure(document)
            self.progress = (done, total)
            if progress is not None:
                progress(done, total)
        index = SearchIndex(documents, previous, postings)
        if total > MIN_NEW_SHARE * sum(_measure(document) for document in documents):
            cache_error = disk_cache.write_postings(corpus.project_id, documents, index.postings) or cache_error
        return index, cache_error


def _cut(
    text: DocumentText, previous: tuple[DocumentText, SearchDocument] | None
) -> tuple[DocumentText, SearchDocument]:
    if previous is not None and previous[0] == text:
        return previous
    return text, cut_into_passages(text, previous)


def _measure(document: SearchDocument) -> int:
    return sum(len(passage.text) for passage in document.passages)


def count_changed_characters(old: SearchDocument | None, new: SearchDocument) -> int:
    """How many characters of a document are in passages that the old one does not have."""
    known = {passage.text for passage in old.passages} if old is not None else set()
    return sum(len(passage.text) for passage in new.passages if passage.text not in known)
