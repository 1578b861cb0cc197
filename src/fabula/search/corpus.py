"""The corpus: all texts of a project that can be searched, and their index, built when it is first needed.

A corpus is part of a view and never changes; the next one shares with it whatever stayed the same. A small project is
indexed while the first request waits, which takes a few milliseconds. A large one is indexed in the background, and
until then requests get a warning. After an edit the next request updates the index, paragraph by paragraph.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

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
        self.built: SearchIndex | None = None
        self.immediate_characters = immediate_characters
        self._new_characters: tuple[int, int] | None = None  # the number of a build, and the characters new since it
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
        builds, known = builder.build_count, self._new_characters
        if known is None or known[0] != builds:
            known = self._new_characters = builds, self.count_new_characters()
        if known[1] <= self.immediate_characters:
            with builder.lock:
                return self._build(None)
        failure, builder.failure = builder.failure, None
        if failure is not None:
            raise failure
        if builder.lock.acquire(blocking=False):
            threading.Thread(target=self._build_in_background, name="search-index", daemon=True).start()
        if wait_seconds and builder.lock.acquire(timeout=wait_seconds):
            builder.lock.release()
            return self.get_index()
        return None

    def build_index(self, progress: Progress | None = None) -> SearchIndex:
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

    def count_new_characters(self) -> int:
        """How many characters the latest index does not know."""
        builder, new = self._builder, 0
        for text in self.texts:
            old = builder.cut_texts.get(text.id)
            new += count_new_characters(old[0].text if old is not None else "", text.text)
        return new + max(self.conversations.characters - builder.conversation_characters, 0)

    def _build(self, progress: Progress | None) -> SearchIndex:
        if self.built is None:
            self.built = self._builder.build(self, progress)
        return self.built


class _IndexBuilder:
    """Builds the indexes of one project; shared by its corpora. `lock` is held while an index is built."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.progress = (0, 0)
        self.latest: SearchIndex | None = None
        self.build_count = 0
        self.cut_texts: CutTexts = {}  # of the latest index
        self.conversation_characters = 0
        self.failure: Exception | None = None  # of building in the background, until a request has raised it

    def build(self, corpus: Corpus, progress: Progress | None) -> SearchIndex:
        """The index of a corpus, made from the latest one and from the cache file as far as they go."""
        cut_texts = {text.id: _cut(text, self.cut_texts.get(text.id)) for text in corpus.texts}
        documents = [*(document for _, document in cut_texts.values()), *corpus.conversations.read_documents()]
        index = self._index(corpus, documents, progress)
        self.cut_texts, self.conversation_characters = cut_texts, corpus.conversations.characters
        self.latest = index
        self.build_count += 1
        return index

    def _index(self, corpus: Corpus, documents: Sequence[SearchDocument], progress: Progress | None) -> SearchIndex:
        """The index of documents; only a large amount of new text is worth the cache file."""
        previous = self.latest
        if corpus.count_new_characters() <= corpus.immediate_characters:
            return SearchIndex(documents, previous)
        known = previous.by_id if previous is not None else {}
        new = [document for document in documents if known.get(document.id) is not document]
        postings, cache_error = disk_cache.read_postings(corpus.project_id, new)
        missing = [document for document in new if document.id not in postings]
        done, total = 0, sum(map(_measure, missing))
        for document in missing:
            old = known.get(document.id)
            old_postings = previous.postings.get(document.id) if previous is not None else None
            postings[document.id] = count_postings(document, old, old_postings)
            done += _measure(document)
            self.progress = (done, total)
            if progress is not None:
                progress(done, total)
        index = SearchIndex(documents, previous, postings)
        if total > MIN_NEW_SHARE * sum(map(_measure, documents)):
            cache_error = disk_cache.write_postings(corpus.project_id, documents, index.postings) or cache_error
        index.cache_error = cache_error
        return index


def _cut(
    text: DocumentText, previous: tuple[DocumentText, SearchDocument] | None
) -> tuple[DocumentText, SearchDocument]:
    if previous is not None and previous[0] == text:
        return previous
    return text, cut_into_passages(text, previous)


def _measure(document: SearchDocument) -> int:
    return sum(len(passage.text) for passage in document.passages)
