"""A client that is made once and kept, for as long as the event loop it was made in.

Making one loads its library and may ask the system's keyring, which can take a second; so it happens beside the
loop, once, however many calls wait for it. Its connections belong to that loop, so another loop gets another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Closing(Protocol):
    """Something that can be let go of."""

    async def close(self) -> None: ...


T = TypeVar("T", bound=Closing)


class Kept(Generic[T]):
    """A thing, made when it is first asked for."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making: asyncio.Future[T] | None = None

    async def get(self) -> T:
        """The thing; a failure to make it is not kept."""
        making = self._making
        if making is None or making.get_loop() is not asyncio.get_running_loop() or _failed(making):
            making = self._making = asyncio.ensure_future(asyncio.to_thread(self._make))
        return making.result() if making.done() else await asyncio.shield(making)

    async def close(self) -> None:
        """Let go of it."""
        making, self._making = self._making, None
        if making is not None and making.get_loop() is asyncio.get_running_loop():
            found = (await asyncio.gather(making, return_exceptions=True))[0]
            if not isinstance(found, BaseException):
                await found.close()


def _failed(making: asyncio.Future[T]) -> bool:
    return making.done() and (making.cancelled() or making.exception() is not None)
