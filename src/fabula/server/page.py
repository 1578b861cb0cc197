"""The page that writers use: files that `make page` builds into `fabula/page`, handed out as they are (ppl-1).

The files hold nothing of a story, so they are open to everybody; what the page shows it asks of `/api`. Names in
`assets/` have a hash of their content and are kept by browsers for good. The editor adds style sheets while it runs,
so the index carries a nonce for them, another one with every answer.
"""

from __future__ import annotations

import secrets
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.handlers import HTTPRouteHandler

from fabula.core.messages import message
from fabula.server.problems import choose_language, refuse_address
from fabula.server.security import ASSETS_PATH, CONTENT_POLICY, PAGE_PATH

PAGE_FOLDER = Path(__file__).parents[1] / "page"
NONCE_MARK = "{{nonce}}"
_NOT_BUILT = message(
    "The page is not built. Build it with `make page`, and start the server again. Programs find the list of "
    "addresses at /api."
)
_FOREVER = "public, max-age=31536000, immutable"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}


def make_page_handlers(folder: Path = PAGE_FOLDER) -> list[HTTPRouteHandler]:
    """Make the handlers of the page and its files, which are read once."""
    index = folder / "index.html"
    text = index.read_text("utf-8") if index.is_file() else ""
    assets = {one.name: one.read_bytes() for one in sorted((folder / "assets").glob("*")) if one.is_file()}

    @get(PAGE_PATH)
    async def show_page(request: Request[Any, Any, Any]) -> Response[str]:
        """Return the page; where it was not built, say how to build it."""
        if not text:
            language = choose_language(request.headers.get("accept-language", ""))
            return Response(_NOT_BUILT.render(language), status_code=503, media_type=MediaType.TEXT)
        nonce = secrets.token_urlsafe(16)
        policy = CONTENT_POLICY.replace("style-src 'self'", f"style-src 'self' 'nonce-{nonce}'")
        return Response(
            text.replace(NONCE_MARK, nonce),
            media_type=MediaType.HTML,
            headers={"content-security-policy": policy},
        )

    @get(ASSETS_PATH + "{name:str}")
    async def show_asset(request: Request[Any, Any, Any]) -> Response[bytes]:
        """Return a file of the page."""
        name = str(request.path_params["name"])
        if name not in assets:
            raise refuse_address()
        media_type = _TYPES.get(Path(name).suffix) or guess_type(name)[0] or "application/octet-stream"
        return Response(assets[name], media_type=media_type, headers={"cache-control": _FOREVER})

    return [show_page, show_asset]
