"""The MCP server itself: handlers of the protocol around tools, resources and prompts (ppl-2).

It serves clients over standard input and output or over HTTP. Every verb runs in a thread of the workspace, beside the
event loop. A refusal of a tool is an answer of that tool, with its code and sentence; a refusal of anything else is an
error of the protocol. A cancelled call is not waited for; a change that it had begun is made as a whole, or not at all.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from difflib import get_close_matches
from typing import Any, TypeVar

import anyio
import mcp_types as types
import msgspec
from mcp.server import NotificationOptions, Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import ENGLISH, Sentence, join_names, message
from fabula.core.version import __version__
from fabula.mcp import prompts, resources
from fabula.mcp.access import McpAccess
from fabula.mcp.notifications import ChangeWatcher, Listener
from fabula.mcp.quotation import INSTRUCTIONS, render_answer
from fabula.mcp.tool_arguments import PROJECT, describe_input, describe_output, read_arguments
from fabula.mcp.tools import TOOLS, StoryTools, ToolInfo
from fabula.workspace.grants import refuse_request
from fabula.workspace.workspace import Workspace

log = logging.getLogger("fabula.mcp")

HTTP_PATH = "/mcp"
MAX_BODY = 4_000_000  # bytes of a request over HTTP
WATCH_SECONDS = 1.0
_UNREADABLE = frozenset({"messages"})  # of a structured answer, that its text leaves out: `prompt` has them

Context = ServerRequestContext[Any, Any]
Answer = TypeVar("Answer")
FindAccess = Callable[[Any], McpAccess]  # from the HTTP request, None over stdio


def make_server(
    workspace: Workspace,
    access: McpAccess | FindAccess,
    *,
    language: str = ENGLISH,
    watch_seconds: float = WATCH_SECONDS,
    has_connections: bool = True,
    listening: set[ListenHandler] | None = None,
) -> Server[None]:
    """Make a server on a workspace; `access` says what a client may do, perhaps by its HTTP request.

    Without connections, each request stands alone; clients of older versions of the protocol cannot subscribe then.
    `listening` holds the streams of changes that are open, for whoever ends them before the server.
    """
    handlers = _Handlers(workspace, access, language, watch_seconds, set() if listening is None else listening)
    return handlers.make_server(has_connections=has_connections)


def make_http_app(
    server: Server[None], *, path: str = HTTP_PATH, checks_hosts: bool = True, has_connections: bool = True
) -> Starlette:
    """Return the ASGI app of a server, for clients that speak streamable HTTP; its lifespan must be run.

    Only hosts and origins of this machine are answered, unless whoever mounts it checks them and says so. Without
    connections, any of several processes can answer each request.
    """
    security = None if checks_hosts else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(
        streamable_http_path=path,
        max_request_body_size=MAX_BODY,
        transport_security=security,
        stateless_http=not has_connections,
    )


async def serve_stdio(server: Server[None]) -> None:
    """Serve one client over standard input and output until it closes them."""
    async with stdio_server() as (read, write):
        await server.run(read, write, make_options(server))


def make_options(server: Server[None]) -> Any:
    """Return what the server tells of itself to clients that shake hands."""
    return server.create_initialization_options(NotificationOptions(resources_changed=True))


class _Handlers:
    """The handlers of one server."""

    def __init__(
        self,
        workspace: Workspace,
        access: McpAccess | FindAccess,
        language: str,
        watch_seconds: float,
        listening: set[ListenHandler],
    ) -> None:
        self._workspace, self._language, self._listening = workspace, language, listening
        self._own_access = access if isinstance(access, McpAccess) else None  # of everybody who asks
        self._find_access: FindAccess = (lambda _: access) if isinstance(access, McpAccess) else access
        self._watcher = ChangeWatcher(workspace, seconds=watch_seconds)

    def make_server(self, *, has_connections: bool) -> Server[None]:
        """Make a server with these handlers; without connections, nothing is remembered of a client."""
        server: Server[None] = Server(
            "fabula",
            version=__version__,
            title="Fabula",
            instructions=INSTRUCTIONS.render(self._language),
            lifespan=self._run_watcher,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe if has_connections else None,
            on_unsubscribe_resource=self._unsubscribe if has_connections else None,
            on_subscriptions_listen=self._listen,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        if has_connections:
            server.add_notification_handler("notifications/initialized", types.NotificationParams, self._remember)
        return server

    @asynccontextmanager
    async def _run_watcher(self, _: Server[None]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._watcher.watch)
            yield
            tasks.cancel_scope.cancel()

    async def _run(self, verb: Callable[..., Answer], *args: Any) -> Answer:
        """Run a verb beside the event loop; a refusal becomes an error of the protocol with its code."""
        try:
            return await self._workspace.call(verb, *args)
        except FabulaError as error:
            sentence = error.message.render(self._language)
            raise MCPError(types.INVALID_PARAMS, sentence, {"code": error.code.value}) from None
        except Exception as error:
            log.error("a request failed: %s", type(error).__name__)
            raise MCPError(types.INTERNAL_ERROR, _describe_failure(self._language)) from None

    async def _get_access(self, ctx: Context) -> McpAccess:
        """Return what the client of a request may do, which the store is asked for unless it is always the same."""
        if self._own_access is not None:
            return self._own_access
        return await self._run(self._find_access, ctx.request)

    async def _list_tools(self, ctx: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        access = await self._get_access(ctx)
        allowed = [one for one in TOOLS.values() if one.is_allowed(access)]
        return types.ListToolsResult(tools=[self._describe_tool(one, access) for one in allowed])

    def _describe_tool(self, tool: ToolInfo, access: McpAccess) -> types.Tool:
        return types.Tool(
            name=tool.name,
            title=tool.title.render(self._language),
            description=tool.description.render(self._language),
            input_schema=describe_input(tool, access, self._language),
            output_schema=describe_output(tool),
            annotations=types.ToolAnnotations(
                read_only_hint=tool.reads_only,
                destructive_hint=tool.is_destructive,
                idempotent_hint=tool.is_idempotent,
                open_world_hint=False,
            ),
        )

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        access, tool = await self._get_access(ctx), TOOLS.get(params.name)
        if tool is None or not tool.is_allowed(access):
            sentence = _explain_missing_tool(params.name, access)
            raise MCPError(types.INVALID_PARAMS, sentence.render(self._language), {"code": Code.REQUEST_INVALID.value})
        client = ctx.session.client_params.client_info.name if ctx.session.client_params is not None else ""
        try:
            answer = await self._workspace.call(self._run_tool, tool, access, params.arguments or {}, client)
        except FabulaError as error:
            return self._refuse(error)
        except Exception as error:
            log.error("%s failed: %s", tool.name, type(error).__name__)
            raise MCPError(types.INTERNAL_ERROR, _describe_failure(self._language)) from None
        readable = {name: value for name, value in answer.items() if name not in _UNREADABLE}
        text = render_answer(tool.title, readable, self._language)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)

    def _run_tool(self, tool: ToolInfo, access: McpAccess, sent: dict[str, Any], client: str) -> dict[str, Any]:
        if tool.needs_project:
            name = sent.get(PROJECT)
            access = access.choose_project(self._workspace, None if name is None else str(name))
            if not tool.is_allowed(access):
                raise refuse_request()
        project, arguments = read_arguments(tool, access, sent)
        tools = StoryTools(self._workspace, access, project, client=client, language=self._language)
        answer: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(tool.run(tools, **arguments)))
        return answer

    def _refuse(self, error: FabulaError) -> types.CallToolResult:
        """Return a refusal as the answer of a tool; its sentence may name things of the story, so it is quoted."""
        code, sentence = error.code.value, error.message.render(self._language)
        text = render_answer(message("Refused: {code}", code=code), {"sentence": sentence}, self._language)
        return types.CallToolResult(
            content=[types.TextContent(text=text)],
            structured_content={"code": code, "sentence": sentence},
            is_error=True,
        )

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params is not None else None
        page, following = await self._run(
            resources.list_resources, self._workspace, await self._get_access(ctx), cursor
        )
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=one.uri, name=one.item.name, description=one.project, mime_type="text/markdown")
                for one in page
            ],
            next_cursor=following,
        )

    async def _list_templates(
        self, ctx: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=resources.make_template(kind),
                    name=kind,
                    title=title.render(self._language),
                    description=description.render(self._language),
                    mime_type="text/markdown",
                )
                for kind, (title, description) in resources.TEMPLATES.items()
            ]
        )

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri, access = str(params.uri), await self._get_access(ctx)
        text = await self._run(resources.read_resource, self._workspace, access, uri, self._language)
        contents = types.TextResourceContents(uri=uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _remember(self, ctx: Context, _: types.NotificationParams | None) -> None:
        await self._watcher.remember(ctx.session, await self._get_access(ctx))

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        uri, access = str(params.uri), await self._get_access(ctx)
        await self._run(resources.read_resource, self._workspace, access, uri, self._language)
        await self._watcher.subscribe(await self._watcher.remember(ctx.session, access), uri)
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        listener = await self._watcher.remember(ctx.session, await self._get_access(ctx))
        self._watcher.unsubscribe(listener, str(params.uri))
        return types.EmptyResult()

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of changes; addresses that the client may not read are left out of it."""
        access, wanted = await self._get_access(ctx), params.notifications
        uris = [
            uri
            for uri in wanted.resource_subscriptions or ()
            if await self._run(resources.can_read, self._workspace, access, str(uri))
        ]
        allowed = wanted.model_copy(update={"resource_subscriptions": uris or None})
        bus = InMemorySubscriptionBus()  # of this client alone, which must not learn of what others may read
        handler = ListenHandler(bus)

        listener = Listener(
            lambda: self._find_access(ctx.request),
            bus.publish,
            end=handler.close,
            uris=frozenset(map(str, uris)),
            wants_lists=bool(wanted.resources_list_changed),
        )
        self._listening.add(handler)
        try:
            await self._watcher.add(listener)
            return await handler(ctx, params.model_copy(update={"notifications": allowed}))
        finally:
            self._listening.discard(handler)
            self._watcher.remove(listener)

    async def _list_prompts(self, ctx: Context, _: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        access = await self._get_access(ctx)
        skills = await self._run(prompts.list_skills, self._workspace, access)
        only_project = await self._run(access.find_only_project, self._workspace)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=skill.id,
                    title=skill.title_in("zh" if self._language == "zh" else "en"),
                    arguments=[
                        types.PromptArgument(
                            name=one.name, description=one.description.render(self._language), required=one.is_required
                        )
                        for one in prompts.list_parameters(skill, access, only_project)
                    ],
                )
                for skill in skills
            ]
        )

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        access, sent = await self._get_access(ctx), params.arguments or {}
        made = await self._run(prompts.assemble_skill, self._workspace, access, params.name, sent, self._language)
        texts = (made.material, made.instruction)
        return types.GetPromptResult(
            description=made.title,
            messages=[types.PromptMessage(role="user", content=types.TextContent(text=text)) for text in texts],
        )


def _explain_missing_tool(name: str, access: McpAccess) -> Sentence:
    """Say why a client has no tool of a name, and which ones it has."""
    tool, name = TOOLS.get(name), name[:100]
    allowed = [one.name for one in TOOLS.values() if one.is_allowed(access)]
    if not allowed:
        return message(
            "There is no tool for you here: you belong to no project, or your key has no right that a tool needs. "
            "Ask the owner of the server."
        )
    if tool is not None and not access.may_use(tool.right, tool.verb):
        return message(
            "There is no tool {name!r} for you here, since it needs the right `{right}`. Ask the owner of the project. "
            "There are: {names}.",
            name=name,
            right=tool.right.value,
            names=join_names(allowed),
        )
    if near := get_close_matches(name, allowed, n=1):
        return message("There is no tool {name!r} here. The nearest is {near!r}.", name=name, near=near[0])
    return message("There is no tool {name!r} here. There are: {names}.", name=name, names=join_names(allowed))


def _describe_failure(language: str) -> str:
    return message("Something went wrong inside of Fabula. Its log says what.").render(language)
