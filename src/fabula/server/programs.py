"""Serves programs that speak the Model Context Protocol at `/mcp`, under the same access rules as every route (ppl-2).

Each request stands alone, so that any process can answer it. The caller of the request decides which projects there
are and what may be done in each: tools need the rights that the routes of the same verbs need.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from litestar import Litestar, Request, asgi
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler

from fabula.access.model import Right
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import list_languages, message
from fabula.manuscript.projects import ProjectSummary
from fabula.mcp.access import McpAccess
from fabula.mcp.sdk import require_sdk
from fabula.server.access import Access, list_own_projects
from fabula.server.named_projects import open_project
from fabula.server.problems import choose_language
from fabula.server.requests import check_content_type, receive_body
from fabula.server.security import Receive, find_access_again, get_headers
from fabula.workspace.grants import has_limits, refuse_request
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

if TYPE_CHECKING:
    from mcp.server.subscriptions import ListenHandler
    from starlette.applications import Starlette

MCP_PATH = "/mcp"
_INSPECTION = "project.explain"  # the verb of the one tool that looks inside of a prompt


class CallerAccess(McpAccess, frozen=True, kw_only=True):
    """What a caller of the server may do over MCP: in each project what its role there allows."""

    caller: Access

    def __post_init__(self) -> None:
        """Accept limits without a project: they are those of each project."""

    @property
    def has_limits(self) -> bool:
        """Whether the caller is nothing but a player, wherever it belongs."""
        own = map(self.caller.make_principal, self.caller.memberships)
        return self.caller.everywhere is None and all(map(has_limits, own))

    def choose_project(self, workspace: Workspace, name: str | None) -> McpAccess:
        """Return what the caller may do in one project."""
        project, caller = self.open_project(workspace, name), self.caller
        return McpAccess(
            project_id=project.id,
            principal=project.principal,
            rights=caller.list_rights(project.id),
            verbs=caller.verbs,
            role_rights=frozenset(one for one in Right if caller.has_any_right(one, project.id)),
        )

    def list_projects(self, workspace: Workspace) -> list[ProjectSummary]:
        """List the projects that the caller belongs to and may ask about."""
        found = sorted(list_own_projects(workspace, self.caller), key=lambda one: (one.number, one.id))
        return [one for one in found if self.caller.has_any_right(Right.ASSEMBLE, one.id)]

    def open_project(self, workspace: Workspace, name: str | None = None) -> ProjectHandle:
        """Open a project of the caller by its title, number or id."""
        own = self.list_projects(workspace)
        if not name:
            if len(own) != 1:
                return super().open_project(workspace, name)  # which says that a name is missing
            return open_project(workspace, self.caller, own[0].id, verb=_INSPECTION)
        found = [one.id for one in own if name in (one.id, one.title, str(one.number))]
        if len(found) != 1 and self.caller.everywhere is None:
            raise refuse_request()
        project = open_project(workspace, self.caller, found[0] if len(found) == 1 else name, verb=_INSPECTION)
        if not self.caller.has_any_right(Right.ASSEMBLE, project.id):
            self.caller.require(Right.ASSEMBLE, project.id)
        return project


class ProgramServer:
    """The MCP server of an application, in each language that callers may ask for; its lifespan must be run."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._apps: dict[str, Starlette] = {}
        self._listening: set[ListenHandler] = set()

    @asynccontextmanager
    async def run(self, _: Litestar) -> AsyncIterator[None]:
        """Serve while the block runs, where the package of the protocol is installed."""
        try:
            require_sdk()
        except FabulaError:  # each request is told so
            yield
            return
        from fabula.mcp.server import make_http_app, make_server

        async with AsyncExitStack() as stack:
            for language in list_languages():
                server = make_server(
                    self._workspace,
                    _find_access,
                    language=language,
                    has_connections=False,
                    listening=self._listening,
                )
                app = make_http_app(server, path=MCP_PATH, checks_hosts=False, has_connections=False)
                await stack.enter_async_context(app.router.lifespan_context(app))
                self._apps[language] = app
            yield

    def close(self) -> None:
        """End the streams of all programs that listen; the last frame of each is its result."""
        for one in tuple(self._listening):
            one.close()

    def make_handler(self) -> ASGIRouteHandler:
        """Make the handler of the address."""

        @asgi(MCP_PATH, copy_scope=True)
        async def serve_program(scope: Any, receive: Any, send: Any) -> None:
            """Answer one request of a program that speaks the Model Context Protocol."""
            require_sdk()
            if scope["method"] != "POST":
                raise MethodNotAllowedException
            from fabula.mcp.server import MAX_BODY

            body = await receive_body(Request(scope, receive), MAX_BODY)  # the package would refuse it in plain text
            check_content_type(body, get_headers(scope).get("content-type", ""))
            is_refused = False

            async def send_accepted(sent: MutableMapping[str, Any]) -> None:
                nonlocal is_refused
                is_refused |= sent.get("status") == 406  # which the package says with nothing, or in a form of its own
                if not is_refused:
                    await send(sent)

            await self._choose_app(scope["headers"])(scope, _replay(body, receive), send_accepted)
            if is_refused:
                raise FabulaError(
                    Code.HTTP_NOT_ACCEPTABLE,
                    message("Accept both forms of an answer: `Accept: application/json, text/event-stream`."),
                )

        return serve_program

    def _choose_app(self, headers: list[tuple[bytes, bytes]]) -> Callable[..., Any]:
        accepted = next((value for name, value in headers if name.lower() == b"accept-language"), b"")
        return self._apps[choose_language(accepted.decode("latin-1"))]


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return what hands out a body that was received already, and then what comes behind it."""
    parts = [body]

    async def receive_again() -> MutableMapping[str, Any]:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await receive()

    return receive_again


def _find_access(request: Any) -> McpAccess:
    scope: Mapping[str, Any] = request.scope
    caller = find_access_again(scope)
    places = (None, *caller.memberships)
    rights = frozenset(right for right in Right if any(caller.has_right(right, place) for place in places))
    named = [one for one in places if one is not None]
    role_rights = frozenset(right for right in Right if any(caller.has_any_right(right, one) for one in named))
    if caller.everywhere is not None:
        role_rights = frozenset(Right)
    return CallerAccess(caller=caller, rights=rights, verbs=caller.verbs, role_rights=role_rights)
