"""Search over whole novels: the time to build an index, to update it after an edit, and to query it.

War and Peace and 红楼梦, with nothing in the cache folder. A query is the text before a cursor, 500 words of it, asked
as a request would ask; an update is one paragraph edited and the next query answered. Of the two books the slower one
counts; memory is what the process grew by.

    python -m benchmarks.search --data DIR [--json]
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from benchmarks.figures import arguments, percentile, report, show
from benchmarks.novels import chapters
from fabula.core.story import Perspective, Position, Timeline, Vantage
from fabula.manuscript.model import Document, Manuscript
from fabula.search.corpus import Corpus
from fabula.search.find import SearchScope, find_passages, make_search_mask
from fabula.search.index import disk_cache as cache
from fabula.search.index.index import SearchIndex
from fabula.search.model import Query
from fabula.search.query import weigh_text_before
from fabula.search.source import MAX_PASSAGES
from fabula.workspace.search_corpus import make_document_texts

NOVELS = ("war_and_peace", "红楼梦")
QUERIES, UPDATES = 400, 40
WORDS, LETTERS = 500, 6  # a window, and what a word of it takes with its space
ADDED_SENTENCE = " And as she said it the clock on the landing struck the half hour, as it had that other night."


def read_memory() -> float:
    """The resident memory of this process in megabytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def make_random_query(story: Manuscript, timeline: Timeline, random: Random) -> tuple[Query, SearchScope]:
    """The query and scope of somebody who writes at a random place."""
    document = random.choice(story.documents[1:])
    cursor = random.randint(min(WORDS * LETTERS, len(document.text)), len(document.text))
    begin = max(cursor - WORDS * LETTERS, 0)
    scope = SearchScope(
        Vantage(Perspective.READER, Position(document.id, cursor)), timeline, shown_from=Position(document.id, begin)
    )
    return Query(parts=tuple(weigh_text_before(document.text, begin, cursor)), is_page=True), scope


def run_query(built: SearchIndex | None, query: Query, scope: SearchScope) -> None:
    """Search as the engine does."""
    assert built is not None
    find_passages(built, query, make_search_mask(built, scope), MAX_PASSAGES)


def add_sentence(story: Manuscript, random: Random) -> Manuscript:
    """The same story with one more sentence in one paragraph."""
    number = random.randrange(1, len(story.documents))
    document = story.documents[number]
    at = document.text.find("\n", len(document.text) // 2)
    at = len(document.text) if at < 0 else at
    text = document.text[:at] + ADDED_SENTENCE + document.text[at:]
    changed = Document(document.id, document.title, text)
    return Manuscript((*story.documents[:number], changed, *story.documents[number + 1 :]))


def measure(texts: Sequence[tuple[str, str]]) -> dict[str, float]:
    """All figures of one book."""
    story = Manuscript(tuple(Document(f"ch-{n}", title, text) for n, (title, text) in enumerate(texts, start=1)))
    timeline, random = story.timeline(), Random(1)
    before = read_memory()
    start = time.perf_counter()
    corpus = Corpus("bench", make_document_texts(story))
    built = corpus.build_index()
    took = time.perf_counter() - start
    grown = read_memory() - before
    queries = [make_random_query(story, timeline, random) for _ in range(QUERIES)]
    for query, scope in queries[:50]:
        run_query(built, query, scope)
    times = []
    for query, scope in queries:
        start = time.perf_counter()
        run_query(built, query, scope)
        times.append((time.perf_counter() - start) * 1000)
    updates = []
    for query, scope in queries[:UPDATES]:
        story = add_sentence(story, random)
        start = time.perf_counter()
        corpus = Corpus("bench", make_document_texts(story), previous=corpus)
        run_query(corpus.get_index(), query, scope)
        updates.append((time.perf_counter() - start) * 1000)
    start = time.perf_counter()
    Corpus("bench", corpus.texts).build_index()
    return {
        "index_s": took,
        "update_ms": percentile(updates, 0.5),
        "query_p50_ms": percentile(times, 0.5),
        "query_p95_ms": percentile(times, 0.95),
        "memory_mb": grown,
        "reopened_s": time.perf_counter() - start,
        "passages": float(len(built.passages)),
    }


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    found: dict[str, dict[str, float]] = {}
    for novel in NOVELS if options.data is not None else NOVELS[:1]:
        with tempfile.TemporaryDirectory() as folder:
            os.environ[cache.CACHE_VARIABLE] = folder
            found[novel] = measure(chapters(options.data, novel))
    names = [*next(iter(found.values()))]
    show("search", ("figure", *found), [(name, *(one[name] for one in found.values())) for name in names])
    report({name: max(one[name] for one in found.values()) for name in names}, as_json=options.json)


if __name__ == "__main__":
    main()
