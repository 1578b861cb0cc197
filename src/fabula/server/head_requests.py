"""HEAD: every address that answers GET answers HEAD with the same status and headers, and no body."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from fabula.server.address import LINK_PATH
from fabula.server.security import ASGIApp, Receive, Scope, Send


class HeadRequests:
    """Asks an application for the answer to a GET, and ends the answer behind its headers.

    A link that works once is not used up: HEAD is refused there.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].startswith(LINK_PATH):
            await self.app(scope, receive, send)
            return
        asked, is_answered = {**scope, "method": "GET"}, asyncio.Event()

        async def send_head(sent: MutableMapping[str, Any]) -> None:
            if sent["type"] == "http.response.start":
                scope["path_template"] = asked.get("path_template")  # that the application found
                await send(sent)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                is_answered.set()

        async def receive_until_answered() -> MutableMapping[str, Any]:
            """Receive what comes, or that the client is gone once it has its answer, which ends a stream."""
            reading, waiting = asyncio.ensure_future(receive()), asyncio.ensure_future(is_answered.wait())
            try:
                await asyncio.wait((reading, waiting), return_when=asyncio.FIRST_COMPLETED)
                return reading.result() if reading.done() else {"type": "http.disconnect"}
            finally:
                reading.cancel()
                waiting.cancel()

        await self.app(asked, receive_until_answered, send_head)
