"""Let a model write. The provider here answers from a script; `make_provider` gives one for a real server."""

import asyncio
from collections.abc import AsyncGenerator

from fabula import open_read_only
from fabula.llm import ModelCall, StreamEnd, StreamEvent, TextChunk
from fabula.workspace import Completed, TextDelta, Writer


class ScriptedProvider:
    """Answers every call with the same words."""

    name = "scripted"

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer word by word."""
        for word in ["The", "lamp", "burned", "low,", "and", "nobody", "came."]:
            yield TextChunk(word + " ")
        yield StreamEnd()

    async def aclose(self) -> None:
        """Close nothing."""


async def main() -> None:
    """Stream one answer to the terminal."""
    project = open_read_only("sample:lantern_coast")
    writer = Writer(project, ScriptedProvider())
    async for event in writer.write(project.request(document_id="ch-03", window=8192)):
        if isinstance(event, TextDelta):
            print(event.text, end="", flush=True)
        elif isinstance(event, Completed):
            print(f"\n[{event.finish_reason}]")


asyncio.run(main())
