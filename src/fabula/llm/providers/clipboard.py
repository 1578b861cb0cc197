"""Provider without a model: answers with the assembled prompt, for the clipboard (ppl-3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

from fabula.llm.model import ModelCall, StreamEnd, StreamEvent, TextChunk, Usage


class ClipboardProvider:
    """Answers every call with its prompt."""

    name = "clipboard"

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        """The prompt as one chunk, then the end. Nothing was sent, so the usage is zero."""
        yield TextChunk(join_messages(call))
        yield StreamEnd(finish_reason="handed_over", usage=Usage())

    async def aclose(self) -> None:
        """Nothing to close."""


def join_messages(call: ModelCall) -> str:
    """The messages as one text, with the roles where the prompt contains assistant messages."""
    omits_roles = all(message.role != "assistant" for message in call.messages)
    texts = [message.content if omits_roles else f"[{message.role}]\n{message.content}" for message in call.messages]
    names = [_read_name(reference) for message in call.messages for reference in message.attachments]
    return "\n\n".join([*texts, *(f"[{name}]" for name in names)])


def _read_name(reference: str) -> str:
    """The name of an attachment, which the user must attach by hand."""
    return "attachment" if reference.startswith("data:") else Path(reference).name
