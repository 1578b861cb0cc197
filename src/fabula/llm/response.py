"""An answer that is waited for as a whole: where nobody watches it come."""

from __future__ import annotations

from contextlib import aclosing

from msgspec import Struct

from fabula.llm.model import Call, Ended, Provider, Usage, Why
from fabula.llm.provider_config import USUAL, Patience
from fabula.llm.retry import ask
from fabula.text.tokens.tokenizer import Tokenizer


class Whole(Struct, frozen=True):
    """An answer with its end."""

    text: str
    why: Why
    usage: Usage


async def whole(
    provider: Provider, call: Call, *, patience: Patience = USUAL, tokenizer: Tokenizer | None = None
) -> Whole:
    """All of an answer; what `ask` refuses is refused."""
    said: list[str] = []
    end = Ended()
    async with aclosing(ask(provider, call, patience=patience, tokenizer=tokenizer)) as events:
        async for event in events:
            if isinstance(event, Ended):
                end = event
            else:
                said.append(event.text)
    return Whole("".join(said), end.why, end.usage)
