"""The cookie of a browser's session, whose name has the port of the server's address as the browser knows it.

Browsers send a cookie to every port of a host: two servers on one machine would sign each other out by one name. Over
TLS the name begins with `__Host-`, so that neither another host of the same domain nor a page without TLS can set it.
"""

from __future__ import annotations

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from litestar import Response

from fabula.access.edits import SESSION_DAYS

_NAME, _SECURE_PREFIX, _TLS = "fabula_session", "__Host-", "https"
SESSION_SECONDS = SESSION_DAYS * 86_400
_USUAL_PORTS = {"http": 80, _TLS: 443}


def name_cookie(scheme: str, host: str) -> str:
    """Return the name of the cookie for the scheme and the `Host` of a request."""
    try:
        port = urlsplit(f"//{host}").port
    except ValueError:
        port = None
    name = f"{_NAME}_{port or _USUAL_PORTS.get(scheme, 80)}"
    return f"{_SECURE_PREFIX}{name}" if scheme == _TLS else name


def read_session(scope: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """Return the secret of the session that a request comes with; empty without one."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(_name_own(scope, headers))
    except CookieError:
        return ""
    return found.value if found is not None else ""


def set_session(answer: Response[None], scope: Mapping[str, Any], headers: Mapping[str, str], session: str) -> None:
    """Let an answer set the cookie for the secret of a session, or take it away where that is empty."""
    answer.set_cookie(
        _name_own(scope, headers),
        session,
        max_age=SESSION_SECONDS if session else 0,
        httponly=True,
        samesite="strict",
        path="/",
        secure=scope["scheme"] == _TLS,
    )


def _name_own(scope: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    return name_cookie(str(scope["scheme"]), headers.get("host", ""))
