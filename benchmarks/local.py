"""How long the model inside Fabula takes to its first word, and from there on.

The small model that comes in a wheel continues the sample story. `first` is the first call of a process (the model is
loaded, the whole prompt is read), `again` the same prompt once more (another variant), and `further` another wish at
the same place: what it has in common with the last one is not read again.

    python -m benchmarks.local [--window TOKENS] [--json]
"""

from __future__ import annotations

import asyncio
import time

from msgspec.structs import replace

from benchmarks.figures import arguments, report, show
from fabula.context.request import Request
from fabula.llm.model import Call, Ended, Text
from fabula.llm.provider_config import SLOW
from fabula.llm.providers.local import BUNDLED, Local
from fabula.llm.retry import ask
from fabula.workspace.project import Fabula

TOKENS = 48


async def _timed(house: Fabula, request: Request) -> tuple[float, float, int, int]:
    """Seconds to the first word, tokens a second from there on, tokens read, and how many of them were known."""
    result = house.assemble(request)
    call = Call(
        model=BUNDLED,
        messages=tuple(result.messages),
        max_tokens=TOKENS,
        temperature=0,
        input_tokens=result.token_count,
    )
    start = time.perf_counter()
    first = 0.0
    ended = Ended()
    async for event in ask(Local(), call, patience=SLOW):
        if isinstance(event, Text):
            first = first or time.perf_counter() - start
        else:
            ended = event
    rest = time.perf_counter() - start - first
    return first, (ended.usage.output_tokens - 1) / rest, ended.usage.input_tokens, ended.usage.cached_tokens


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--window", type=int, default=None, help="tokens; as the model table says, by default")
    options = parser.parse_args()
    house = Fabula.open("sample:lantern_coast")
    request = house.request(model=BUNDLED, skill_id="continue", window=options.window)
    further = replace(request, additional_input="Begin with the sea.")
    rows: list[tuple[str, float, float, float, float]] = []
    figures: dict[str, float] = {}
    for name, one in (("first", request), ("again", request), ("further", further)):
        first, speed, read, known = asyncio.run(_timed(house, one))
        rows.append((name, first, speed, float(read), float(known)))
        figures |= {f"{name}_seconds": first, f"{name}_tokens_a_second": speed, f"{name}_read": float(read)}
        figures[f"{name}_known"] = float(known)
    show("the bundled model", ("call", "s to first word", "tokens/s", "tokens read", "of them known"), rows)
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
