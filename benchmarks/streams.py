"""What Fabula adds to a model's own time: before the first byte goes out, on cancelling, and with many at once.

A server on the loopback speaks as a provider does. Overhead is the time from asking `Writer.write` to the
request's arrival at that server, which runs in a process of its own, less the assembly itself. Cancelling is
timed from giving up to the server seeing the connection closed. 200 streams at once are counted to the last
piece, and memory is read before and after.

    python -m benchmarks.streams [--json]
"""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Callable
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection

from tests.llm.server import Exchange, Server, chunk, serving

from benchmarks.figures import arguments, percentile, report, show
from fabula.context.render import Message
from fabula.llm.model import Call, Text
from fabula.llm.provider_config import Place
from fabula.llm.providers.factory import provider_at
from fabula.llm.retry import ask
from fabula.workspace.project import Fabula
from fabula.workspace.writing import Finished, Writer
from fabula.workspace.writing_options import Judging, Terms

KEY = "FABULA_BENCH_KEY"
STREAMS, PIECES, ROUNDS = 200, 50, 5
CALL = Call(model="gpt-4o", messages=(Message("user", "Go on."),), max_tokens=4000)


def _place(server: Server) -> Place:
    return Place(name="bench", base_url=server.url, key_variable=KEY)


def elsewhere(line: Connection) -> None:
    """A server in a process of its own; the text of its answers is when the request arrived, by the system's clock."""

    async def script(exchange: Exchange) -> None:
        at = time.monotonic()
        await exchange.head()
        await exchange.event(chunk(repr(at), "stop"))
        await exchange.event("[DONE]")

    with serving() as server:
        server.script = script
        line.send(server.port)
        line.recv()


async def overhead(port: int, requests: int = 400) -> tuple[list[float], list[float]]:
    """Milliseconds before the first byte beyond the assembly, and the assembly's own."""
    house = Fabula.open("sample:lantern_coast")
    provider = provider_at(Place(name="bench", base_url=f"http://127.0.0.1:{port}/v1", key_variable=KEY))
    writer = Writer(house, provider, terms=Terms(judging=Judging(policy="off")))
    request = house.request(model="gpt-4o", window=8192)
    extra: list[float] = []
    own: list[float] = []
    for number in range(requests + 5):
        start = time.monotonic()
        house.assemble(request)
        assembly = time.monotonic() - start
        start = time.monotonic()
        arrived = 0.0
        async for step in writer.write(request):
            if isinstance(step, Finished):
                arrived = float(step.text)
        if number >= 5:  # the first ones load the client
            own.append(assembly * 1000)
            extra.append(max((arrived - start - assembly) * 1000, 0.0))
    await provider.aclose()
    return extra, own


async def cancelling(server: Server, times: int = 40) -> list[float]:
    """Milliseconds from giving up to the server seeing the connection closed."""
    provider = provider_at(_place(server))
    found = []
    for _ in range(times):
        closed: list[float] = []

        def seen(closed: list[float] = closed) -> None:
            closed.append(time.perf_counter())

        server.script = _talking(seen)
        events = ask(provider, CALL)
        await anext(events)
        start = time.perf_counter()
        await events.aclose()
        while not closed:
            await asyncio.sleep(0.001)
        found.append((closed[0] - start) * 1000)
    await provider.aclose()
    return found


def _talking(gone: Callable[[], None]) -> Callable[[Exchange], object]:
    async def script(exchange: Exchange) -> None:
        await exchange.head()
        try:
            while True:
                await exchange.event(chunk("word "))
                await asyncio.sleep(0.005)
        finally:
            gone()

    return script


async def many(server: Server) -> tuple[int, list[float]]:
    """How many pieces of all streams were lost, and memory in MB after each round."""

    async def script(exchange: Exchange) -> None:
        await exchange.head()
        for number in range(PIECES):
            await exchange.event(chunk(f"{number} "))
            await asyncio.sleep(0.002)
        await exchange.event(chunk(why="stop"))
        await exchange.event("[DONE]")

    server.script = script
    provider = provider_at(_place(server))
    whole = "".join(f"{number} " for number in range(PIECES))
    lost, memory = 0, []

    async def one() -> str:
        return "".join([event.text async for event in ask(provider, CALL) if isinstance(event, Text)])

    for _ in range(ROUNDS):
        said = await asyncio.gather(*(one() for _ in range(STREAMS)))
        lost += sum(text != whole for text in said)
        server.seen.clear()
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    await provider.aclose()
    return lost, memory


def main() -> None:
    options = arguments(__doc__ or "", data=False).parse_args()
    os.environ[KEY] = "none"
    ours, theirs = Pipe()
    other = get_context("spawn").Process(target=elsewhere, args=(theirs,), daemon=True)
    other.start()
    extra, own = asyncio.run(overhead(ours.recv()))
    ours.send("enough")
    other.join()
    with serving() as server:
        cancelled = asyncio.run(cancelling(server))
        lost, memory = asyncio.run(many(server))
    rows = [
        (name, percentile(times, 0.5), percentile(times, 0.95))
        for name, times in (("assembly", own), ("beyond it, to the first byte", extra), ("cancel to closed", cancelled))
    ]
    show("milliseconds", ("what", "p50", "p95"), rows)
    report(
        {
            "overhead_p95_ms": percentile(extra, 0.95),
            "cancel_p95_ms": percentile(cancelled, 0.95),
            "streams_lost": float(lost),
            "memory_first_mb": memory[0],
            "memory_last_mb": memory[-1],
        },
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
