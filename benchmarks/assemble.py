"""How long an assembly takes: warm and cold, small books and large, one at a time and 500 at once.

python -m benchmarks.assemble --data DIR [--json]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from random import Random
from statistics import median

from benchmarks.figures import arguments, loop_ms, milliseconds, percentile, report, show, timed
from benchmarks.novels import PROJECT, chapters, project, sentences
from fabula.context import (
    Engine,
    EngineSettings,
    Fragment,
    FunctionSource,
    Layer,
    Limits,
    Recipe,
    Request,
    SourceRequest,
)
from fabula.context.recipes import NOVEL
from fabula.context.render import prefix_hash
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.text.tokens.tokenizer import load_encoding
from fabula.workspace.sources import all_sources

MODEL, WINDOW = "gpt-4o", 8192
ROUNDS = 4  # each workload is run so often, at other cursors every time; the calmest round counts


def requests(view: View, number: int, seed: int, *, window: int = WINDOW) -> list[Request]:
    """Requests at random cursors."""
    random = Random(seed)
    story = view.snapshot(Manuscript)
    assert story is not None
    found = []
    for _ in range(number):
        document = random.choice(story.documents)
        found.append(
            Request(
                project_id=PROJECT,
                document_id=document.id,
                cursor=random.randint(min(200, len(document.text)), len(document.text)),
                skill_id="continue",
                model=MODEL,
                window=window,
            )
        )
    return found


def warm(engine: Engine, view: View, number: int = 600, *, window: int = WINDOW) -> list[float]:
    """Times of requests at cursors never seen before, in a project that has been used a while."""
    for request in requests(view, 2 * number, seed=1, window=window):
        engine.assemble(request, view)
    return calmest([times(engine, view, number, seed, window=window) for seed in range(2, 2 + ROUNDS)])


def times(engine: Engine, view: View, number: int, seed: int, *, window: int = WINDOW) -> list[float]:
    """Times of so many requests, one after the other."""
    return timed([partial(engine.assemble, request, view) for request in requests(view, number, seed, window=window)])


def growth(engine: Engine, small: View, large: View, number: int = 300) -> float:
    """How much longer a request takes in a large book than in a small one, at cursors never seen before.

    The two take turns, and the middle of the ratios counts, so that a machine that slows down does not decide.
    """
    return median(
        percentile(times(engine, large, number, seed), 0.5) / percentile(times(engine, small, number, seed), 0.5)
        for seed in range(80, 80 + 2 * ROUNDS)
    )


def calmest(rounds: list[list[float]]) -> list[float]:
    """The round with the lowest median: what else runs on the machine can only make a round slower."""
    return min(rounds, key=lambda times: percentile(times, 0.5))


def cold(texts: Sequence[tuple[str, str]], number: int = 15) -> list[float]:
    """Times of the first request after opening: nothing counted, no automaton, vocabulary loaded."""
    times = []
    for seed in range(number):
        view = project(texts, characters=1_000_000, entries=1000, constraints=50, seed=seed)
        request = requests(view, 1, seed)[0]
        load_encoding("o200k_base").clear_cache()
        engine = Engine(all_sources())
        times.append(milliseconds(partial(engine.assemble, request, view)))
    return times


def capacity(texts: Sequence[tuple[str, str]], number: int = 100) -> list[float]:
    """At the limits: 64k tokens in, 200 chunks, 500 constraints."""
    view = project(texts, characters=1_000_000, entries=1000, constraints=500)
    said = sentences(texts, 3)
    chunks = [
        Fragment(
            source=f"search:chunk#{n}",
            layer=Layer.RETRIEVED,
            text=" ".join(islice(said, 5)),
            project_id=PROJECT,
            score=0.3 + n / 500,
        )
        for n in range(200)
    ]

    def answer(ask: SourceRequest, view: View) -> list[Fragment]:
        return chunks

    feed = FunctionSource(name="chunks", function=answer, blocking=False)
    recipe = Recipe(name="novel", preset=NOVEL.preset, sources=(*NOVEL.sources, "chunks"))
    engine = Engine([*all_sources(), feed], recipes={"novel": recipe})
    # The manuscript fills what is left of the 64k.
    return warm(engine, view, number, window=64_000)


def burst(engine: Engine, view: View, number: int = 500, workers: int = 8, *, seed: int = 40) -> list[float]:
    """Asked all at once, served by a few threads as a server would: from the common start to each one's end."""
    asked = requests(view, number, seed)
    ends: list[float] = []

    def run(request: Request) -> None:
        engine.assemble(request, view)
        ends.append(time.perf_counter())

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(int, range(workers)))  # the threads exist before the clock starts
        start = time.perf_counter()
        for request in asked:
            pool.submit(run, request)
    return [(end - start) * 1000 for end in ends]


def looking(engine: Engine, view: View, number: int = 200) -> list[float]:
    """Times of dry runs, every verdict written out."""
    return timed([partial(_look, engine, request, view) for request in requests(view, number, 5)])


def _look(engine: Engine, request: Request, view: View) -> int:
    return sum(verdict.included for verdict in engine.inspect(request, view).trace)


def hashing(engine: Engine, view: View, number: int = 500) -> list[float]:
    """Times of hashing a stable prefix as rendered."""
    message = engine.assemble(requests(view, 1, 6)[0], view).messages[0]
    prefix = message.content[: message.stable]
    return timed([partial(prefix_hash, [prefix])] * number)


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    texts = chapters(options.data)
    speed = [loop_ms()]
    engine = Engine(all_sources(), settings=EngineSettings(limits=Limits(waiting=500)))
    sizes = {}
    views = {}
    for size in (100_000, 1_000_000, 10_000_000):
        views[size] = project(texts, characters=size, entries=1000, constraints=50)
        sizes[size] = warm(engine, views[size])
    grown = growth(engine, views[100_000], views[10_000_000])
    usual = sizes[1_000_000]
    searched = warm(
        engine, project(texts, characters=1_000_000, entries=1000, constraints=50, passages=True), number=200
    )
    opened = cold(texts)
    limit = capacity(texts)
    bursts = calmest([burst(engine, views[1_000_000], seed=seed) for seed in range(40, 40 + ROUNDS)])
    crowd = calmest([burst(engine, views[1_000_000], workers=500, seed=seed) for seed in range(60, 60 + ROUNDS)])
    speed.append(loop_ms())
    seen, hashed = looking(engine, views[1_000_000]), hashing(engine, views[1_000_000])
    rows = [(f"warm, {size:,} characters", *_row(times)) for size, times in sizes.items()]
    rows.append(("warm, 1,000,000, search on", *_row(searched)))
    rows += [
        ("cold, 1,000,000", *_row(opened)),
        ("at the limits", *_row(limit)),
        ("500 at once, 8 threads", *_row(bursts)),
    ]
    rows.append(("500 at once, 500 threads", *_row(crowd)))
    rows += [("inspect", *_row(seen)), ("prefix hash", *_row(hashed))]
    show("assemble, milliseconds", ("workload", "p50", "p95", "p99"), rows)
    report(
        {
            "warm_p50_ms": percentile(usual, 0.5),
            "warm_p95_ms": percentile(usual, 0.95),
            "warm_p99_ms": percentile(usual, 0.99),
            "cold_p50_ms": percentile(opened, 0.5),
            "capacity_p50_ms": percentile(limit, 0.5),
            "burst500_p95_ms": percentile(bursts, 0.95),
            "growth_ratio": grown,
            "search_on_p50_ms": percentile(searched, 0.5),
            "burst500_threads_p95_ms": percentile(crowd, 0.95),
            "inspect_p95_ms": percentile(seen, 0.95),
            "hash_p95_ms": percentile(hashed, 0.95),
            "loop_ms": max(speed),
        },
        as_json=options.json,
    )


def _row(times: list[float]) -> tuple[float, float, float]:
    return percentile(times, 0.5), percentile(times, 0.95), percentile(times, 0.99)


if __name__ == "__main__":
    main()
