"""Overhead of streaming: time before the request is sent, time to cancel, and 200 concurrent streams.

A server on the loopback speaks OpenAI's API. Overhead is the time from calling `Writer.write` to the arrival of the
request at that server, which runs in a process of its own, less the time of the assembly. Cancelling is timed from
closing the stream to the server seeing the connection closed. Every chunk of 200 concurrent streams is checked, and
memory is measured after each round.

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

from tests.llm.server import Exchange, ModelServer, chunk, run_server

from benchmarks.figures import arguments, percentile, report, show
from fabula.context.render import PromptMessage
from fabula.llm.model import ModelCall, TextChunk
from fabula.llm.provider_config import ProviderConfig
from fabula.llm.providers import make_provider
from fabula.llm.retry import stream_answer
from fabula.workspace.read_only import open_read_only
from fabula.workspace.writing import Completed, Writer
from fabula.workspace.writing_options import JudgeOptions, WritingOptions

KEY = "FABULA_BENCH_KEY"
STREAMS, CHUNKS, ROUNDS = 200, 50, 5
CALL = ModelCall(model="gpt-4o", messages=(PromptMessage("user", "Go on."),), max_tokens=4000)


def _make_config(server: ModelServer) -> ProviderConfig:
    return ProviderConfig(name="bench", base_url=server.url, key_variable=KEY)


def serve_arrival_times(connection: Connection) -> None:
    """Run a server that answers with the time at which the request arrived, by the system's clock."""

    async def script(exchange: Exchange) -> None:
        arrival = time.monotonic()
        await exchange.send_head()
        await exchange.send_event(chunk(repr(arrival), "stop"))
        await exchange.send_event("[DONE]")

    with run_server() as server:
        server.script = script
        connection.send(server.port)
        connection.recv()


async def measure_overhead(port: int, requests: int = 400) -> tuple[list[float], list[float]]:
    """Milliseconds before the request arrives beyond the assembly, and those of the assembly."""
    project = open_read_only("sample:lantern_coast")
    provider = make_provider(ProviderConfig(name="bench", base_url=f"http://127.0.0.1:{port}/v1", key_variable=KEY))
    writer = Writer(project, provider, options=WritingOptions(judge=JudgeOptions(policy="off")))
    request = project.request(model="gpt-4o", window=8192)
    overheads: list[float] = []
    assemblies: list[float] = []
    for number in range(requests + 5):
        start = time.monotonic()
        project.assemble(request)
        assembly = time.monotonic() - start
        start = time.monotonic()
        arrival = 0.0
        async for step in writer.write(request):
            if isinstance(step, Completed):
                arrival = float(step.text)
        if number >= 5:  # the first ones import the SDK
            assemblies.append(assembly * 1000)
            overheads.append(max((arrival - start - assembly) * 1000, 0.0))
    await provider.aclose()
    return overheads, assemblies


async def measure_cancelling(server: ModelServer, rounds: int = 40) -> list[float]:
    """Milliseconds from closing the stream to the server seeing the connection closed."""
    provider = make_provider(_make_config(server))
    times = []
    for _ in range(rounds):
        closed: list[float] = []

        def record(closed: list[float] = closed) -> None:
            closed.append(time.perf_counter())

        server.script = _endless_script(record)
        events = stream_answer(provider, CALL)
        await anext(events)
        start = time.perf_counter()
        await events.aclose()
        while not closed:
            await asyncio.sleep(0.001)
        times.append((closed[0] - start) * 1000)
    await provider.aclose()
    return times


def _endless_script(on_close: Callable[[], None]) -> Callable[[Exchange], object]:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        try:
            while True:
                await exchange.send_event(chunk("word "))
                await asyncio.sleep(0.005)
        finally:
            on_close()

    return script


async def measure_concurrency(server: ModelServer) -> tuple[int, list[float]]:
    """The number of incomplete streams, and memory in MB after each round."""

    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        for number in range(CHUNKS):
            await exchange.send_event(chunk(f"{number} "))
            await asyncio.sleep(0.002)
        await exchange.send_event(chunk(why="stop"))
        await exchange.send_event("[DONE]")

    server.script = script
    provider = make_provider(_make_config(server))
    expected = "".join(f"{number} " for number in range(CHUNKS))
    incomplete, memory = 0, []

    async def read_stream() -> str:
        return "".join([event.text async for event in stream_answer(provider, CALL) if isinstance(event, TextChunk)])

    for _ in range(ROUNDS):
        texts = await asyncio.gather(*(read_stream() for _ in range(STREAMS)))
        incomplete += sum(text != expected for text in texts)
        server.exchanges.clear()
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    await provider.aclose()
    return incomplete, memory


def main() -> None:
    options = arguments(__doc__ or "", data=False).parse_args()
    os.environ[KEY] = "none"
    connection, server_connection = Pipe()
    process = get_context("spawn").Process(target=serve_arrival_times, args=(server_connection,), daemon=True)
    process.start()
    overheads, assemblies = asyncio.run(measure_overhead(connection.recv()))
    connection.send("stop")
    process.join()
    with run_server() as server:
        cancel_times = asyncio.run(measure_cancelling(server))
        incomplete, memory = asyncio.run(measure_concurrency(server))
    rows = [
        (name, percentile(times, 0.5), percentile(times, 0.95))
        for name, times in (
            ("assembly", assemblies),
            ("beyond it, to the first byte", overheads),
            ("cancel to closed", cancel_times),
        )
    ]
    show("milliseconds", ("what", "p50", "p95"), rows)
    report(
        {
            "overhead_p95_ms": percentile(overheads, 0.95),
            "cancel_p95_ms": percentile(cancel_times, 0.95),
            "streams_lost": float(incomplete),
            "memory_first_mb": memory[0],
            "memory_last_mb": memory[-1],
        },
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
