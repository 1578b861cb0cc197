"""The application: routes, description, health and the link that begins a session, behind the checks of `security`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response, delete, get, post
from litestar.types import ControllerRouterHandler

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.version import __version__
from fabula.server.accounts import Accounts
from fabula.server.address import LINK_PATH
from fabula.server.api_page import STYLE, make_page
from fabula.server.completions import make_completion_handlers
from fabula.server.events import EventHub, make_event_handler
from fabula.server.handlers import API, RouteTable
from fabula.server.head_requests import HeadRequests
from fabula.server.limits import PasswordQueue, read_open_limits, read_rates
from fabula.server.metrics import METRICS_PATH, ServerMetrics, is_open
from fabula.server.openapi import make_document
from fabula.server.page import make_page_handlers
from fabula.server.problems import MAX_BODY, choose_language, describe_exception, encode_refusal
from fabula.server.programs import ProgramServer
from fabula.server.proxies import read_proxy_settings
from fabula.server.requests import check_content_type
from fabula.server.routes import ROUTES, Route
from fabula.server.security import (
    PAGE_PATH,
    SESSION_PATH,
    ASGIApp,
    SecurityMiddleware,
    get_headers,
    note_code,
)
from fabula.server.session_cookie import read_session, set_session
from fabula.server.streams import StreamHub
from fabula.workspace.chat.replies import ChatModel
from fabula.workspace.schemas.people import SignInRequest
from fabula.workspace.schemas.schema import decode
from fabula.workspace.workspace import Workspace


def make_app(
    workspace: Workspace,
    accounts: Accounts,
    *,
    hosts: Iterable[str] = (),
    routes: Iterable[Route] = ROUTES,
    handlers: Sequence[ControllerRouterHandler] = (),
    model: ChatModel = None,
    events: EventHub | None = None,
    streams: StreamHub | None = None,
    programs: ProgramServer | None = None,
    processes: int = 1,
) -> ASGIApp:
    """Make the ASGI application for an open workspace.

    `handlers` are served beside the routes, behind the same checks of caller, host and origin. `model` answers in place
    of what the settings say. Whoever ends the server before its streams have ended closes `events`, `streams` and
    `programs` first. `processes` is how many of them answer for one server: each has its share of rates and quotas.
    """
    passwords = PasswordQueue()
    table = RouteTable(
        workspace,
        routes,
        model=model,
        streams=streams,
        processes=processes,
        passwords=passwords,
        on_access_change=accounts.forget,
    )

    @get(API, media_type=MediaType.HTML)
    async def show_api() -> str:
        """Show all routes to people."""
        return await workspace.call(make_page, table.routes)

    @get(f"{API}/style.css", media_type="text/css")
    async def show_style() -> str:
        """Return the style of the page of routes."""
        return STYLE

    @get(f"{API}/openapi.json")
    async def show_document() -> Response[bytes]:
        """Return the description of all routes."""
        return Response(await workspace.call(_encode_document, table), media_type=MediaType.JSON)

    @get("/healthz")
    async def show_health() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "ok", "version": __version__}

    @get("/readyz")
    async def show_readiness() -> dict[str, str]:
        """Say whether the store answers; a refusal with its code where it does not."""
        await workspace.call(workspace.store.project_ids)
        return {"status": "ready"}

    @get(LINK_PATH + "{code:str}")
    async def open_link(request: Request[Any, Any, Any]) -> Response[None]:
        """Begin a session with a link that works once."""
        session = await workspace.call(accounts.begin_session, request.path_params["code"])
        if session is None:
            raise FabulaError(
                Code.ACCESS_LINK_INVALID,
                message(
                    "This link was used already or is too old. The server prints a new one when it is started again."
                ),
            )
        answer: Response[None] = Response(None, status_code=303, headers={"location": PAGE_PATH})
        return _with_cookie(request, answer, session)

    @post(SESSION_PATH, status_code=204)
    async def sign_in(request: Request[Any, Any, Any]) -> Response[None]:
        """Begin a session with the name of an account and its password."""
        body = await request.body()
        check_content_type(body, get_headers(request.scope).get("content-type", ""))
        asked = decode(body, SignInRequest, what=message("request"))
        address = request.scope["state"]["fabula_address"]
        async with passwords.take_place():
            session = await workspace.call(accounts.sign_in, asked.account, asked.password, address=address)
        if session is None:
            raise FabulaError(
                Code.ACCESS_REQUIRED, message("There is no account with this name and this password. Try again.")
            )
        return _with_cookie(request, Response(None), session)

    @delete(SESSION_PATH, status_code=204)
    async def sign_out(request: Request[Any, Any, Any]) -> Response[None]:
        """End the session that the request comes with."""
        await workspace.call(accounts.sign_out, read_session(request.scope, get_headers(request.scope)))
        return _with_cookie(request, Response(None), "")

    metrics = ServerMetrics(workspace, table.count_waiting)
    others = [
        metrics.make_handler(),
        show_api,
        show_style,
        show_document,
        show_health,
        show_readiness,
        open_link,
        sign_in,
        sign_out,
    ]
    own = [*table.make_handlers(), *table.make_stream_handlers(), *make_completion_handlers(workspace, table.streams)]
    events, programs = events or EventHub(workspace), programs or ProgramServer(workspace)
    app = Litestar(
        [
            *own,
            make_event_handler(workspace, events),
            programs.make_handler(),
            *others,
            *make_page_handlers(),
            *handlers,
        ],
        exception_handlers={Exception: _answer_exception},
        logging_config=None,
        openapi_config=None,
        request_max_body_size=MAX_BODY,
        debug=False,
        lifespan=[programs.run, metrics.watch],
        on_shutdown=[
            partial(table.streams.close, 0.0),
            events.close,
        ],  # what takes an argument is given the application
    )
    return SecurityMiddleware(
        HeadRequests(app),
        accounts,
        hosts=hosts,
        rates=read_rates(processes),
        open_limits=read_open_limits(processes),
        proxy=read_proxy_settings(),
        open_paths=(METRICS_PATH,) if is_open() else (),
        on_answer=metrics.count_request,
    )


def _with_cookie(request: Request[Any, Any, Any], answer: Response[None], session: str) -> Response[None]:
    set_session(answer, request.scope, get_headers(request.scope), session)
    return answer


def _encode_document(table: RouteTable) -> bytes:
    return msgspec.json.encode(make_document(table.routes))


def _answer_exception(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Answer with a problem, in the language that was asked for."""
    language = choose_language(request.headers.get("accept-language", ""))
    problem = describe_exception(error, language)
    note_code(request.scope, problem.code)
    status, headers, body = encode_refusal(problem, request.scope["path"])
    media_type = headers.pop("content-type")
    return Response(body, status_code=status, headers=headers, media_type=media_type)
