"""The clipboard: no model at all. The assembled prompt is handed over, for pasting wherever one likes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

from fabula.llm.model import Call, Ended, Event, Text, Usage


class Clipboard:
    """Answers every call with its own prompt."""

    name = "clipboard"

    async def stream(self, call: Call) -> AsyncGenerator[Event, None]:
        """The prompt as one text, then the end. Nothing was sent anywhere, so nothing was used."""
        yield Text(handed_over(call))
        yield Ended(why="handed_over", usage=Usage())

    async def aclose(self) -> None:
        """There is nothing to let go of."""


def handed_over(call: Call) -> str:
    """The messages as one text; who speaks is said where it changes and is not plain."""
    plain = all(message.role != "assistant" for message in call.messages)
    said = [message.content if plain else f"[{message.role}]\n{message.content}" for message in call.messages]
    along = [_name(reference) for message in call.messages for reference in message.attachments]
    return "\n\n".join([*said, *(f"[{name}]" for name in along)])


def _name(reference: str) -> str:
    """What to attach by hand, since nothing but text can be pasted."""
    return "attachment" if reference.startswith("data:") else Path(reference).name
