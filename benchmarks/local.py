"""Speed of the local provider: seconds to the first word, and tokens per second from there on.

The bundled model continues the sample story. `first` is the first call of a process, which loads the model and reads
the whole prompt; `again` is the same prompt once more; `further` has another instruction at the same cursor, so the
common prefix is not read again.

    python -m benchmarks.local [--window TOKENS] [--json]
"""

from __future__ import annotations

import asyncio
import time

from msgspec.structs import replace

from benchmarks.figures import arguments, report, show
from fabula.context.request import Request
from fabula.llm.model import ModelCall, StreamEnd, TextChunk
from fabula.llm.provider_config import LOCAL_RETRY_POLICY
from fabula.llm.providers.local import BUNDLED_MODEL, LocalProvider
from fabula.llm.retry import stream_answer
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only

TOKENS = 48


async def _measure(project: ProjectHandle, request: Request) -> tuple[float, float, int, int]:
    """Seconds to the first word, tokens per second after it, input tokens, and how many of them were cached."""
    result = project.assemble(request)
    call = ModelCall(
        model=BUNDLED_MODEL,
        messages=tuple(result.messages),
        max_tokens=TOKENS,
        temperature=0,
        input_tokens=result.token_count,
    )
    start = time.perf_counter()
    first = 0.0
    end = StreamEnd()
    async for event in stream_answer(LocalProvider(), call, retry_policy=LOCAL_RETRY_POLICY):
        if isinstance(event, TextChunk):
            first = first or time.perf_counter() - start
        else:
            end = event
    remaining = time.perf_counter() - start - first
    return first, (end.usage.output_tokens - 1) / remaining, end.usage.input_tokens, end.usage.cached_tokens


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--window", type=int, default=None, help="tokens; as the model table says, by default")
    options = parser.parse_args()
    project = open_read_only("sample:lantern_coast")
    request = project.request(model=BUNDLED_MODEL, skill_id="continue", window=options.window)
    further = replace(request, additional_input="Begin with the sea.")
    rows: list[tuple[str, float, float, float, float]] = []
    figures: dict[str, float] = {}
    for name, variant in (("first", request), ("again", request), ("further", further)):
        first, speed, read, cached = asyncio.run(_measure(project, variant))
        rows.append((name, first, speed, float(read), float(cached)))
        figures |= {f"{name}_seconds": first, f"{name}_tokens_a_second": speed, f"{name}_read": float(read)}
        figures[f"{name}_known"] = float(cached)
    show("the bundled model", ("call", "s to first word", "tokens/s", "tokens read", "of them known"), rows)
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
