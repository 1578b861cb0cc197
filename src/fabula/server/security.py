"""What stands before every route: the checks of host, origin and caller, and the headers of every answer (ppl-2).

A page of another site must neither read nor change anything here. The name in `Host` must be one of this server, so
that a name which was rebound to this machine is refused; the address in digits at which a request arrived is always one
of them, and health is told under any name. A request with an `Origin` must come from the server's own
page. A request that changes something with a cookie must have an `Origin`, because browsers send cookies by
themselves. A token in the address is never read.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import nullcontext
from functools import partial
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from fabula.access import hash_secret
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.tracing import record_span
from fabula.net.networks import name_network
from fabula.server.access import Access
from fabula.server.accounts import Accounts
from fabula.server.address import LINK_PATH, LOOPBACK
from fabula.server.limits import OpenLimits, OpenRequests, RateSettings, RequestRates, TokenBuckets
from fabula.server.problems import choose_language, describe_exception, describe_refusal, encode_refusal, refuse_address
from fabula.server.proxies import ProxySettings
from fabula.server.session_cookie import read_session

log = logging.getLogger("fabula.security")

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
FindAccess = Callable[[], Access | None]
ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

PAGE_PATH, ASSETS_PATH = "/", "/assets/"  # of the page, which holds nothing of a story
HEALTH_PATHS = ("/healthz", "/readyz")  # which tell nothing, and which probes ask by any address
OPEN_PATHS = (*HEALTH_PATHS, PAGE_PATH)  # and the files of the page, and the links that begin a session
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
_LOGGED_STATUSES = (401, 403, 421, 429)
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
DEFAULT_HEADERS = {**SECURITY_HEADERS, "cache-control": "no-store"}  # unless an answer has its own
_HEADERS = [(name.encode(), value.encode()) for name, value in DEFAULT_HEADERS.items()]


class SecurityMiddleware:
    """Checks who sends a request and from where, and adds security headers to every answer."""

    def __init__(
        self,
        app: ASGIApp,
        accounts: Accounts,
        *,
        hosts: Iterable[str] = (),
        rates: RateSettings | None = None,
        open_limits: OpenLimits | None = None,
        proxy: ProxySettings | None = None,
        open_paths: Iterable[str] = (),
        on_answer: Callable[[Scope, int, float], None] = lambda *_: None,
    ) -> None:
        """`hosts` are names of this server beside those of the loopback, `open_paths` need no caller.

        `proxy` says which proxies are trusted, and `on_answer` is told the status of each answer and how many seconds
        it took.
        """
        self.app = app
        self._accounts = accounts
        self._open_paths, self._on_answer = frozenset((*OPEN_PATHS, *open_paths)), on_answer
        self._proxy = proxy or ProxySettings()
        self._hosts = LOOPBACK | {host.lower() for host in (*hosts, *self._proxy.hosts)}
        self._rates = RequestRates(rates or RateSettings())
        self._open = OpenRequests(open_limits or OpenLimits())
        self._log_lines = TokenBuckets(1.0, 20.0)
        self._loading: dict[str, asyncio.Task[Access | None]] = {}  # by secret, of callers that the store is asked for

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass with its caller in the scope, or answer with a problem."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        start = time.perf_counter()
        scope.setdefault("state", {})
        headers = _read_headers(scope)
        sender = scope["client"][0] if scope.get("client") else ""
        is_proxy = self._proxy.is_trusted(sender)
        address = self._proxy.find_client(sender, headers.get("x-forwarded-for", "")) if is_proxy else sender
        if is_proxy and headers.get("x-forwarded-proto", "").lower() == "https":
            scope["scheme"] = "https"  # so that cookies are sent over TLS alone

        async def send_with_headers(sent: MutableMapping[str, Any]) -> None:
            if sent["type"] == "http.response.start":
                names = {name.lower() for name, _ in sent["headers"]}
                sent["headers"] = [*sent["headers"], *(one for one in _HEADERS if one[0] not in names)]
                self._on_answer(scope, sent["status"], time.perf_counter() - start)
                if sent["status"] in _LOGGED_STATUSES or _asks_for_hidden_project(scope):
                    self._log_refusal(scope, address, sent["status"])
            await send(sent)

        try:
            if scope["type"] != "http":
                raise refuse_address()
            self._rates.count_request(address)
            self._check_host(scope, headers.get("host", ""))
            set_access(scope, *await self._check(scope, headers, address, is_proxy))
            scope["state"].update(fabula_headers=headers, fabula_address=address)
            if "//" in scope["path"] or (scope["path"].endswith("/") and scope["path"] != PAGE_PATH):
                raise refuse_address()  # which the router would read as another address
            access: Access | None = scope["state"]["fabula_access"]
            is_health_check = scope["path"] in HEALTH_PATHS
            with (
                nullcontext() if is_health_check else self._open.hold(None if access is None else access.user, address)
            ):
                await self._answer(scope, receive, send_with_headers)
        except FabulaError as error:
            problem = describe_refusal(error, choose_language(headers.get("accept-language", "")))
            note_code(scope, problem.code)
            await _send_problem(send_with_headers, encode_refusal(problem, scope.get("path", "")))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with record_span("request", method=str(scope["method"])[:10]) as notes:
                await self.app(scope, _make_receive(receive), send)
                notes.add("http.route", scope.get("path_template") or "other")
        except Exception as error:  # in the middle of an answer, which then ends: uvicorn would log the text
            describe_exception(error)

    def may_connect(self, address: str, count: int) -> bool:
        """Whether an address may have so many connections; those of a trusted proxy are of many people."""
        limits = self._open.limits
        return count <= limits.count(limits.connections, address) or self._proxy.is_trusted(address)

    def _check_host(self, scope: Scope, host: str) -> None:
        """Refuse a request that names another server, or two of them, which are joined by a comma."""
        name = _read_name(host)
        if "," not in host and (name in self._hosts or scope["path"] in HEALTH_PATHS or _is_own_address(scope, name)):
            return
        raise FabulaError(
            Code.ACCESS_HOST_REFUSED,
            message(
                "This server does not answer for that host. Use the address that it prints when it starts, or list the "
                "host in `FABULA_HOSTS`."
            ),
        )

    async def _check(
        self, scope: Scope, headers: dict[str, str], address: str, is_proxy: bool
    ) -> tuple[Access | None, FindAccess, FindAccess]:
        """Return the caller, what finds it again, and what asks the store for it.

        It is None where the path is open to everybody.
        """
        method, path, host = scope["method"], scope["path"], headers.get("host", "")
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != host.lower():
            raise _refuse_origin()
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise FabulaError(
                Code.HTTP_CONTENT_ENCODING,
                message("The body must not be compressed: leave out `Content-Encoding`. Nothing was changed."),
            )
        is_open = path in self._open_paths or path.startswith((LINK_PATH, ASSETS_PATH))
        is_sign_in = method == "POST" and path == SESSION_PATH
        if is_sign_in:
            self._rates.count_try(address)
        if is_open or is_sign_in:
            return None, lambda: None, lambda: None
        named = headers.get(self._proxy.header) if self._proxy.header else None
        if named is not None and not is_proxy:
            raise FabulaError(
                Code.ACCESS_PROXY_REFUSED,
                message("Only a trusted proxy may say who somebody is. Nothing was changed."),
            )
        scheme, _, token = headers.get("authorization", "").partition(" ")
        caller, accounts = token.strip(), self._accounts
        if scheme.lower() == "bearer":
            access = await self._find_access(caller, accounts.recall, accounts.load, address)
            find_again, load = partial(accounts.find_access, caller), partial(accounts.load, caller)
        else:
            if named is not None:
                caller = named.strip().lower()
                access = await self._find_access(caller, accounts.recall_named, accounts.load_named)
                find_again, load = partial(accounts.find_named, caller), partial(accounts.load_named, caller)
            else:
                caller = read_session(scope, headers)
                access = await self._find_access(caller, accounts.recall, accounts.load, address)
                find_again, load = partial(accounts.find_access, caller), partial(accounts.load, caller)
            if access is not None and method not in _SAFE_METHODS and origin is None:  # sent by a browser by itself
                raise FabulaError(
                    Code.ACCESS_ORIGIN_REFUSED,
                    message(
                        "A change with a session cookie needs an `Origin` header, as browsers send it. Programs send a "
                        "token. Nothing was changed."
                    ),
                )
        if access is None:
            raise _refuse_caller()
        self._rates.count_caller(hash_secret(caller), address)
        return access, find_again, load

    async def _find_access(
        self,
        caller: str,
        recall: Callable[[str], tuple[bool, Access | None]],
        load: Callable[[str], Access | None],
        address: str | None = None,
    ) -> Access | None:
        """Find a caller; the store is asked beside the event loop, and once for one caller.

        Tries from an address with what is not known to be valid are counted.
        """
        is_known, access = recall(caller)
        if access is None and caller and address is not None:
            self._rates.count_try(address)
        if is_known:
            return access
        task = self._loading.get(caller)
        if task is None:
            task = self._loading[caller] = asyncio.create_task(asyncio.to_thread(load, caller))
            task.add_done_callback(lambda _: self._loading.pop(caller, None))
        return await asyncio.shield(task)

    def _log_refusal(self, scope: Scope, address: str, status: int) -> None:
        """Note who was refused and why, a bounded number of times for each address.

        A project that is not there and one of somebody else are one refusal, and one line.
        The route is the pattern of its addresses, which may hold titles; what is refused before it is found has none.
        """
        if not self._log_lines.take(name_network(address)):
            state = scope.get("state", {})
            access = state.get("fabula_access")
            user = access.user if isinstance(access, Access) else "-"
            log.warning(
                "refused: status=%d code=%s user=%s address=%s method=%s route=%s",
                status,
                state.get("fabula_code", "-"),
                user,
                address,
                scope.get("method"),
                scope.get("path_template") or "-",
            )


def set_access(scope: Scope, access: Access | None, find_again: FindAccess, load: FindAccess) -> None:
    """Put the caller of a request into its scope, what finds it again, and what asks the store for it."""
    scope.setdefault("state", {}).update(fabula_access=access, fabula_find_again=find_again, fabula_load=load)


def note_code(scope: Mapping[str, Any], code: str) -> None:
    """Put the code of a refusal into the scope of its request, for the log."""
    scope["state"]["fabula_code"] = code


def get_access(scope: Mapping[str, Any]) -> Access:
    """Return the caller of a request; the routes that are open to everybody have none and do not ask."""
    access = scope.get("state", {}).get("fabula_access")
    if not isinstance(access, Access):
        raise FabulaError(Code.ACCESS_REQUIRED, message("This needs a token."))
    return access


def get_headers(scope: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the headers of a request by their names in lower case; of one that comes twice the values are joined."""
    headers: Mapping[str, str] = scope["state"]["fabula_headers"]
    return headers


def find_access_again(scope: Mapping[str, Any]) -> Access:
    """Return the caller of a request that lasts, as it may do now; refused where its key or session has ended."""
    find_again: FindAccess = scope["state"]["fabula_find_again"]
    access = find_again()
    if access is None:
        raise _refuse_caller()
    return access


def load_access(scope: Mapping[str, Any]) -> Access:
    """Return the caller of a request as the store has it now, whatever is remembered."""
    load: FindAccess = scope["state"]["fabula_load"]
    known, access = get_access(scope), load()
    return known if access is None else access  # the token of the server is in no store


def _refuse_caller() -> FabulaError:
    return FabulaError(
        Code.ACCESS_REQUIRED,
        message("This needs a token. Send it as `Authorization: Bearer TOKEN`, or open the link of the server."),
    )


def _refuse_origin() -> FabulaError:
    return FabulaError(
        Code.ACCESS_ORIGIN_REFUSED, message("A page of another site may not send this. Nothing was changed.")
    )


def _asks_for_hidden_project(scope: Scope) -> bool:
    """Whether somebody other than the owner of the store has asked for a project that is not theirs, or not there."""
    state = scope["state"]
    access = state.get("fabula_access")
    is_missing = state.get("fabula_code") == Code.PROJECT_NOT_FOUND.value
    return is_missing and isinstance(access, Access) and access.everywhere is None


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


def _is_own_address(scope: Scope, name: str) -> bool:
    """Whether a name is the address, in digits, at which a request arrived; no other name can be made to lead there."""
    try:
        return ip_address(name) == ip_address(scope["server"][0].removeprefix("::ffff:"))
    except (TypeError, ValueError):  # a name, or no address at all
        return False


def _make_receive(receive: Receive) -> Receive:
    """Return what reads a request, and refuses one whose body ends too soon."""
    is_complete = False

    async def receive_whole() -> MutableMapping[str, Any]:
        nonlocal is_complete
        event = await receive()
        if event["type"] == "http.request":
            is_complete = not event.get("more_body", False)
        elif not is_complete:
            is_complete = True
            raise FabulaError(Code.REQUEST_INVALID, message("The request ended too soon. Nothing was changed."))
        return event

    return receive_whole


async def _send_problem(send: Send, answer: tuple[int, dict[str, str], bytes]) -> None:
    status, headers, body = answer
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    encoded.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": False})
