"""Provider for trying the page without a model: writes sentences that were written beforehand, word by word.

The sentences fit every story because they say nothing of it. Whoever shows them says that no model wrote them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from itertools import count

from fabula.llm.model import ModelCall, StreamEnd, StreamEvent, TextChunk, Usage

DEMO_MODEL = "demo"
_PAUSE_SECONDS = 0.02  # between two words
_TEXTS = {
    "en": (
        "For a while nobody spoke. The light moved a hand's breadth along the wall, and something outside that had "
        "been knocking in the wind grew still. Then one of them drew breath, and it was clear that it would be said "
        "now, whatever it cost.",
        "It was the small things that gave it away: the cup set down too carefully, the chair that was not drawn up. "
        "Nobody had come here to talk about the weather, and nobody said a word about anything else.",
    ),
    "zh": (
        "好一会儿没有人说话。光沿着墙移了一掌宽，外面那件一直在风里响的东西也静了下来。"
        "随后有人吸了一口气，谁都明白，不管代价如何，话总要说出口了。",
        "露出破绽的都是小事：杯子放得太轻，椅子没有拉近。没有人是来谈天气的，可也没有人开口说别的。",
    ),
}


class DemoProvider:
    """Answers every call with sentences that were written beforehand."""

    name = "demo"
    _calls = count()  # of this process: the same prompt gets another text when it is tried again

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        """The sentences piece by piece, then the end; another text with each call."""
        texts = _TEXTS["zh" if call.language == "zh" else "en"]
        text = texts[next(self._calls) % len(texts)]
        pieces = re.findall(r"\S+\s*" if " " in text else r".{1,2}", text)
        for piece in pieces:
            await asyncio.sleep(_PAUSE_SECONDS)
            yield TextChunk(piece)
        yield StreamEnd(finish_reason="stop", usage=Usage(output_tokens=len(pieces), reported_by_provider=False))

    async def aclose(self) -> None:
        """Nothing to close."""
