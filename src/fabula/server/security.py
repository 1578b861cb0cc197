"""What stands before every route: the checks of host, origin and caller, and the headers of every answer (ppl-2).

A page of another site must neither read nor change anything here. The name in `Host` must be one of this server, so
that a name which was rebound to this machine is refused. A request with an `Origin` must come from the server's own
page. A request that changes something with a cookie must have an `Origin`, because browsers send cookies by
themselves. A token in the address is never read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.server.access import Access
from fabula.server.problems import choose_language, describe_refusal, encode_problem
from fabula.server.tokens import Authenticator

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
COOKIE = "fabula_session"
PAGE_PATH, ASSETS_PATH = "/", "/assets/"  # of the page, which holds nothing of a story
OPEN_PATHS = ("/healthz", "/readyz", PAGE_PATH)  # and the files of the page, and the links that begin a session
LINK_PATH = "/open/"
SESSION_PATH = "/api/session"  # signing in needs no caller yet
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_DEFAULTS = {**SECURITY_HEADERS, "cache-control": "no-store"}  # unless an answer has its own
_HEADERS = [(name.encode(), value.encode()) for name, value in _DEFAULTS.items()]


class SecurityMiddleware:
    """Checks who sends a request and from where, and adds security headers to every answer."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, *, hosts: Iterable[str] = ()) -> None:
        """`hosts` are names of this server beside those of the loopback."""
        self.app = app
        self._authenticator = authenticator
        self._hosts = LOOPBACK | {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: object, send: Send) -> None:
        """Let a request pass with its caller in the scope, or answer with a problem."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(sent: MutableMapping[str, Any]) -> None:
            if sent["type"] == "http.response.start":
                names = {name.lower() for name, _ in sent["headers"]}
                sent["headers"] = [*sent["headers"], *(one for one in _HEADERS if one[0] not in names)]
            await send(sent)

        headers = _read_headers(scope)
        try:
            if scope["type"] != "http":
                raise FabulaError(Code.HTTP_NOT_FOUND, message("There is nothing at this address."))
            set_access(scope, self._check(scope["method"], scope["path"], headers))
        except FabulaError as error:
            problem = describe_refusal(error, choose_language(headers.get("accept-language", "")))
            await _send_problem(send_with_headers, encode_problem(problem))
            return
        await self.app(scope, receive, send_with_headers)

    def _check(self, method: str, path: str, headers: dict[str, str]) -> Access | None:
        """Return the caller; None where the path is open to everybody."""
        host = headers.get("host", "")
        if _read_name(host) not in self._hosts:
            raise FabulaError(
                Code.ACCESS_HOST_REFUSED,
                message("This server does not answer for that host. Use the address that `fabula serve` prints."),
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != host.lower():
            raise _refuse_origin()
        is_open = path in OPEN_PATHS or path.startswith((LINK_PATH, ASSETS_PATH))
        if is_open or (method == "POST" and path == SESSION_PATH):
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            access = self._authenticator.find_access(token.strip())
        else:
            access = self._authenticator.find_access(read_session(headers.get("cookie", "")))
            if access is not None and method not in _SAFE_METHODS and origin is None:
                raise _refuse_origin()
        if access is None:
            raise FabulaError(
                Code.ACCESS_REQUIRED,
                message(
                    "This needs a token. Send it as `Authorization: Bearer TOKEN`, or open the link of the server."
                ),
            )
        return access


def set_access(scope: Scope, access: Access | None) -> None:
    """Put the caller of a request into its scope."""
    scope.setdefault("state", {})["fabula_access"] = access


def get_access(scope: Mapping[str, Any]) -> Access:
    """Return the caller of a request; the routes that are open to everybody have none and do not ask."""
    access = scope.get("state", {}).get("fabula_access")
    if not isinstance(access, Access):
        raise FabulaError(Code.ACCESS_REQUIRED, message("This needs a token."))
    return access


def _refuse_origin() -> FabulaError:
    return FabulaError(
        Code.ACCESS_ORIGIN_REFUSED, message("A page of another site may not send this. Nothing was changed.")
    )


def _read_headers(scope: Scope) -> dict[str, str]:
    """The headers by name; of one that comes twice the values are joined, so that it matches nothing."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def _read_name(host: str) -> str:
    """The name in a `Host` header without its port; empty where it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def read_session(cookie: str) -> str:
    """Return the secret of the session that a `Cookie` header holds; empty without one."""
    try:
        found = SimpleCookie(cookie).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


async def _send_problem(send: Send, answer: tuple[int, dict[str, str], bytes]) -> None:
    status, headers, body = answer
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    encoded.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": False})
