"""Search over whole novels: how long an index takes to make, to follow an edit, and to answer.

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
from fabula.core.story import Eyes, Position, Timeline, Vantage
from fabula.manuscript.model import Document, Manuscript
from fabula.search.corpus import Made, Shelf
from fabula.search.find import Stand, allowed, find
from fabula.search.index import disk_cache as cache
from fabula.search.model import Query
from fabula.search.query import before
from fabula.search.source import MOST
from fabula.workspace.search_corpus import texts_of

NOVELS = ("war_and_peace", "红楼梦")
QUERIES, UPDATES = 400, 40
WORDS, LETTERS = 500, 6  # a window, and what a word of it takes with its space
AGAIN = " And as she said it the clock on the landing struck the half hour, as it had that other night."


def memory() -> float:
    """How much this process holds, in megabytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def asked(story: Manuscript, timeline: Timeline, random: Random) -> tuple[Query, Stand]:
    """What somebody looks for who writes at a random place."""
    document = random.choice(story.documents[1:])
    cursor = random.randint(min(WORDS * LETTERS, len(document.text)), len(document.text))
    begin = max(cursor - WORDS * LETTERS, 0)
    stand = Stand(Vantage(Eyes.READER, Position(document.id, cursor)), timeline, shown=Position(document.id, begin))
    return Query(parts=tuple(before(document.text, begin, cursor)), page=True), stand


def answer(made: Made | None, query: Query, stand: Stand) -> None:
    """Search as the engine does."""
    assert made is not None
    find(made, query, allowed(made, stand), MOST)


def edited(story: Manuscript, random: Random) -> Manuscript:
    """The same with a sentence more in one paragraph."""
    number = random.randrange(1, len(story.documents))
    document = story.documents[number]
    at = document.text.find("\n", len(document.text) // 2)
    at = len(document.text) if at < 0 else at
    text = document.text[:at] + AGAIN + document.text[at:]
    changed = Document(document.id, document.title, text)
    return Manuscript((*story.documents[:number], changed, *story.documents[number + 1 :]))


def measure(texts: Sequence[tuple[str, str]]) -> dict[str, float]:
    """All figures of one book."""
    story = Manuscript(tuple(Document(f"ch-{n}", title, text) for n, (title, text) in enumerate(texts, start=1)))
    timeline, random = story.timeline(), Random(1)
    held = memory()
    start = time.perf_counter()
    shelf = Shelf("bench", texts_of(story))
    made = shelf.finished()
    took = time.perf_counter() - start
    grown = memory() - held
    queries = [asked(story, timeline, random) for _ in range(QUERIES)]
    for query, stand in queries[:50]:
        answer(made, query, stand)
    times = []
    for query, stand in queries:
        start = time.perf_counter()
        answer(made, query, stand)
        times.append((time.perf_counter() - start) * 1000)
    updates = []
    for query, stand in queries[:UPDATES]:
        story = edited(story, random)
        start = time.perf_counter()
        shelf = Shelf("bench", texts_of(story), before=shelf)
        answer(shelf.look(), query, stand)
        updates.append((time.perf_counter() - start) * 1000)
    start = time.perf_counter()
    Shelf("bench", shelf.texts).finished()
    return {
        "index_s": took,
        "update_ms": percentile(updates, 0.5),
        "query_p50_ms": percentile(times, 0.5),
        "query_p95_ms": percentile(times, 0.95),
        "memory_mb": grown,
        "reopened_s": time.perf_counter() - start,
        "passages": float(len(made.index.passages)),
    }


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    found: dict[str, dict[str, float]] = {}
    for novel in NOVELS if options.data is not None else NOVELS[:1]:
        with tempfile.TemporaryDirectory() as folder:
            os.environ[cache.SETTING] = folder
            found[novel] = measure(chapters(options.data, novel))
    names = [*next(iter(found.values()))]
    show("search", ("figure", *found), [(name, *(one[name] for one in found.values())) for name in names])
    report({name: max(one[name] for one in found.values()) for name in names}, as_json=options.json)


if __name__ == "__main__":
    main()
