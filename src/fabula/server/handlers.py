"""Makes handlers of routes: read the request, check the right, call one verb, encode its answer (ppl-2).

Reading, calling and encoding happen in a thread of the workspace, so that nothing of it holds the event loop; a warm
assembly is so short that it happens on the loop (`warm_requests.py`). A verb that is a coroutine is awaited on the
loop, since it does its own work in threads.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response, delete, get
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream
from msgspec.structs import replace

from fabula.access import find_session_id
from fabula.access.model import Right
from fabula.context.admission import FREE_PLACE, AdmissionQueue
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import is_valid_id
from fabula.core.messages import ENGLISH, message
from fabula.responses.keys import DONE, KeptResponse
from fabula.server.access import Access
from fabula.server.calls import Reply, call_verb, has_tag, make_reply, make_version_headers
from fabula.server.files import MAX_UPLOAD, make_download, receive_upload, take_upload
from fabula.server.limits import PasswordQueue
from fabula.server.named_projects import check_whole_name, open_requested
from fabula.server.openapi import BINARY
from fabula.server.problems import choose_language
from fabula.server.requests import (
    EVENTS,
    JSON,
    PageQuery,
    choose_provider,
    read_body,
    read_file_name,
    read_path,
    read_query,
    read_size,
    receive_body,
    select_given,
)
from fabula.server.routes.route import PROJECT, PROJECT_FIELD, PROVIDER_FIELD, Call, Method, Route
from fabula.server.security import find_access_again, get_access, get_headers
from fabula.server.session_cookie import read_session
from fabula.server.streams import Check, StreamHub, read_last_event, refuse_stream
from fabula.server.uploads import UploadPlaces, UploadQuota, read_upload_settings
from fabula.server.warm_requests import Timer, WarmRequests
from fabula.settings.values import SettingValues
from fabula.workspace.account import CREATION_SETTING
from fabula.workspace.chat.replies import ChatModel
from fabula.workspace.continuity import OutdatedViewError
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

API = "/api"
_CHANGING_METHODS = ("PUT", "PATCH", "DELETE")
_UNDO_STEP = "undo-step"
_UNDONE_RIGHTS = (Right.EDIT, Right.PLAY, Right.MANAGE, Right.STORE)  # of changes that can leave a step
Handle = Callable[[Request[Any, Any, Any]], Awaitable[Any]]  # which answers with something that sends itself
STREAM_PATH = API + "/projects/{project:str}/streams/{stream:str}"


class RouteTable:
    """The routes of a server by method and path, with the workspace that they work on."""

    def __init__(
        self,
        workspace: Workspace,
        routes: Iterable[Route],
        *,
        model: ChatModel = None,
        streams: StreamHub | None = None,
        processes: int = 1,
        passwords: PasswordQueue | None = None,
        on_access_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`processes` is how many of them answer for one server, and share its quotas.

        `passwords` bounds how many are hashed at once, and `on_access_change` is told when somebody's access was
        changed here.
        """
        self.workspace = workspace
        self.model = model
        self.routes = tuple(routes)
        self.streams = streams or StreamHub(workspace)
        limits = workspace.engine.limits
        self._assemblies = AdmissionQueue(limits.at_once, limits.waiting)  # which wait without a thread
        self._uploads, self._upload_places = UploadQuota(read_upload_settings(processes)), UploadPlaces()
        self._passwords = passwords or PasswordQueue()
        self._warm = WarmRequests(workspace)
        self._on_access_change = on_access_change
        self._lets_people_create = SettingValues()[CREATION_SETTING] > 0
        self._stream_routes = {one.verb: one for one in self.routes if one.stream}
        self._readers = {one.path: one for one in self.routes if one.has_version}

    def make_handlers(self) -> list[HTTPRouteHandler]:
        """Make a handler of Litestar for every path: one for each method takes twice as long to start."""
        makers = {"upload": self._make_upload_handler, "download": self._make_download_handler}
        paths: dict[str, dict[Method, Handle]] = {}
        for one in self.routes:
            make = self._make_stream_handler if one.stream else makers.get(one.file, self._make_handler)
            paths.setdefault(one.path, {})[one.method] = make(one)
        streams = {one.path for one in self.routes if one.stream}
        return [
            _register(API + path.replace("}", ":str}"), handles, EVENTS if path in streams else JSON)
            for path, handles in paths.items()
        ]

    def _make_handler(self, route: Route) -> Handle:
        async def handle(request: Request[Any, Any, Any]) -> Reply:
            body = b"" if route.method == "GET" else await receive_body(request)
            headers = get_headers(request.scope)
            if route.method != "POST" or "idempotency-key" not in headers:
                return await answer(route, request, body, headers)
            await self.workspace.call(self._read, route, request, body, headers)  # who may not ask gets no kept answer
            return await self._answer_once(route, request, body, lambda: answer(route, request, body, headers))

        answer = self._answer if route.queue_key is None else self._answer_bounded
        if route.hashes_password:
            answer = self._answer_with_password
        return handle

    def _make_upload_handler(self, route: Route) -> Handle:
        async def handle(request: Request[Any, Any, Any]) -> Reply:
            headers = get_headers(request.scope)
            call, _ = await self.workspace.call(self._read, route, request, b"", headers)
            name, size = read_file_name(request.scope["query_string"]), read_size(request, MAX_UPLOAD)
            with self._upload_places.hold(call.access.user):
                counted = self._uploads.begin(call.access, size)
                correct = partial(self._uploads.correct, call.access, counted)
                async with receive_upload(request, name, correct) as file:
                    return await self._answer_once(
                        route, request, file.digest, lambda: self._take_upload(route, call, file.path)
                    )

        return handle

    async def _take_upload(self, route: Route, call: Call, file: Path) -> Reply:
        """Read a file that was received, when it is its turn."""
        costs: list[float] = []
        async with self._upload_places.read():
            self._uploads.check_time(call.access)
            try:
                return await self.workspace.call(self._read_upload, route, call, file, costs.append)
            finally:
                self._uploads.spend(call.access, sum(costs))

    def _read_upload(self, route: Route, call: Call, file: Path, on_cost: Callable[[float], None]) -> Reply:
        with self.workspace.collect_steps() as steps:
            reply = take_upload(route, call, file, on_cost)
        return _name_step(route, reply, steps)

    def _make_download_handler(self, route: Route) -> Handle:
        async def handle(request: Request[Any, Any, Any]) -> Response[bytes]:
            headers = get_headers(request.scope)
            call, _ = await self.workspace.call(self._read, route, request, b"", headers)
            name, data = await self.workspace.call(make_download, route, call)
            disposition = f"attachment; filename*=UTF-8''{quote(name)}"
            return Response(data, headers={"content-disposition": disposition}, media_type=BINARY)

        return handle

    def _make_stream_handler(self, route: Route) -> Handle:
        async def handle(request: Request[Any, Any, Any]) -> Stream:
            body = await receive_body(request)
            headers = get_headers(request.scope)
            call, _ = await self.workspace.call(self._read, route, request, body, headers)
            access, project_id = call.access, call.handle.id
            check = _make_check(request.scope, access, project_id, route)

            def encode(event: Any) -> tuple[str, bytes]:
                described = route.answer.make(event, call)
                return str(described.__struct_config__.tag), msgspec.json.encode(described)

            async def start() -> Reply:
                events = await self.workspace.call(call_verb, route, call)
                live = await self.streams.start(
                    project_id, access.user, route.verb, events, encode, check=check, language=call.language
                )
                return Reply(200, headers={"location": f"{API}/projects/{project_id}/streams/{live.id}"})

            reply = await self._answer_once(route, request, body, start)
            stream_id = reply.headers["location"].rpartition("/")[2]
            after = read_last_event(headers.get("last-event-id", ""), stream_id)
            await self.workspace.call(self.streams.find_verb, project_id, access.user, stream_id)
            followed = self.streams.follow(project_id, stream_id, after, check=check, language=call.language)
            return Stream(followed, media_type=EVENTS, headers=dict(reply.headers))

        return handle

    def make_stream_handlers(self) -> list[HTTPRouteHandler]:
        """Make the handlers that follow and cancel any stream."""

        @get(STREAM_PATH)
        async def follow(request: Request[Any, Any, Any]) -> Stream:
            """Go on with a stream behind `Last-Event-ID`, or from its beginning."""
            project_id, stream_id, check = await self.workspace.call(self._find_stream, request)
            after = read_last_event(request.headers.get("last-event-id", ""), stream_id)
            language = choose_language(request.headers.get("accept-language", ""))
            events = self.streams.follow(project_id, stream_id, after, check=check, language=language)
            return Stream(events, media_type=EVENTS)

        @delete(STREAM_PATH, status_code=204)
        async def cancel(request: Request[Any, Any, Any]) -> None:
            """Stop a stream."""
            project_id, stream_id, _ = await self.workspace.call(self._find_stream, request)
            await self.streams.cancel(project_id, stream_id)

        return [follow, cancel]

    def _find_stream(self, request: Request[Any, Any, Any]) -> tuple[str, str, Check]:
        """Find a stream of the caller, who needs the right of the route that began it, and what asks that again."""
        access, project = open_requested(self.workspace, request.scope, str(request.path_params[PROJECT]))
        stream_id = str(request.path_params["stream"])
        route = self._stream_routes.get(self.streams.find_verb(project.id, access.user, stream_id))
        if route is None:
            raise refuse_stream()
        access.require(route.right, project.id, verb=route.verb)
        return project.id, stream_id, _make_check(request.scope, access, project.id, route)

    async def _answer(
        self, route: Route, request: Request[Any, Any, Any], body: bytes, headers: Mapping[str, str]
    ) -> Reply:
        call_in_thread = self.workspace.call
        if not is_coroutine(route):
            return await call_in_thread(self._run, route, request, body, headers)
        call, _ = await call_in_thread(self._read, route, request, body, headers)
        may_come_back = "idempotency-key" in headers
        receive = None if may_come_back else request.receive
        value = await self.streams.await_for_client(receive, call_verb(route, call))
        return await call_in_thread(make_reply, route, value, call)

    async def _answer_with_password(
        self, route: Route, request: Request[Any, Any, Any], body: bytes, headers: Mapping[str, str]
    ) -> Reply:
        async with self._passwords.take_place():
            return await self._answer(route, request, body, headers)

    def count_waiting(self) -> int:
        """The number of requests that wait for their turn."""
        return self._assemblies.count_waiting()

    async def _answer_bounded(
        self, route: Route, request: Request[Any, Any, Any], body: bytes, headers: Mapping[str, str]
    ) -> Reply:
        """Answer a request that is bounded by a key: on the event loop where it is warm, else in a thread."""
        access, named = get_access(request.scope), request.path_params.get(PROJECT)
        project = self._warm.find_project(named, access, body, route.verb)
        started = None if project is None else self._start_warm(route, request, body, headers, project)
        if started is None:
            started = await self.workspace.call(
                lambda: self._start(route, self._read(route, request, body, headers)[0], None)
            )
        if isinstance(started, Reply):
            return started
        return await self._answer_in_turn(route, lambda: self._read(route, request, body, headers)[0], *started)

    def _start_warm(
        self,
        route: Route,
        request: Request[Any, Any, Any],
        body: bytes,
        headers: Mapping[str, str],
        project: ProjectHandle,
    ) -> Reply | tuple[str, Future[None]] | None:
        """Answer a request on the event loop; None where it is not warm, or the project has changed meanwhile."""
        try:
            call, _ = self._read(route, request, body, headers, project)
            timer = self._warm.find_timer(call)
            return None if timer is None else self._start(route, call, timer)
        except OutdatedViewError:
            return None
        except FabulaError:
            if project.is_current:
                raise
            return None

    def _start(self, route: Route, call: Call, timer: Timer | None) -> Reply | tuple[str, Future[None]]:
        """Answer a request that is bounded by a key; where no place is free, return the place that it waits for.

        A warm request has a timer.
        """
        assert route.queue_key is not None
        key = route.queue_key(call)
        place = self._assemblies.enter(key)
        if place is not FREE_PLACE:
            return key, place
        try:
            return self._warm.make(call, lambda: make_reply(route, call_verb(route, call), call), timer)
        finally:
            self._assemblies.leave(key, place)

    async def _answer_in_turn(self, route: Route, read: Callable[[], Call], key: str, place: Future[None]) -> Reply:
        """Answer when a place is free, to a call that is read then, since the project may have changed meanwhile.

        Waiting holds no thread, so that other documents are not kept waiting.
        """

        def answer() -> Reply:
            call = read()
            return make_reply(route, call_verb(route, call), call)

        try:
            await asyncio.wrap_future(place)
            return await self.workspace.call(answer)
        finally:
            self._assemblies.leave(key, place)

    async def _answer_once(
        self,
        route: Route,
        request: Request[Any, Any, Any],
        body: bytes,
        answer: Callable[[], Coroutine[Any, Any, Reply]],
    ) -> Reply:
        """Answer a request; one that has a key as before, if it was done already with this key.

        `body` is that of the request, or the hash of an uploaded file.
        An answer with a secret is not kept. Of a body with a password also no hash is kept: somebody who reads the
        store could try passwords with it.
        """
        key = get_headers(request.scope).get("idempotency-key") if route.method == "POST" else None
        if key is None:
            return await answer()
        if not is_valid_id(key):
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("An Idempotency-Key has 1 to 128 characters, without spaces and slashes. Nothing was changed."),
            )
        call_in_thread, log = self.workspace.call, self.workspace.responses
        user = get_access(request.scope).user
        hashed_body = b"" if route.hashes_password else body
        asked = (route.name.encode(), str(request.url.path).encode(), request.scope["query_string"], hashed_body)
        claimed = await call_in_thread(lambda: log.claim(user, key, hash_request(asked)))
        if isinstance(claimed, KeptResponse):
            if route.has_secret:
                raise _refuse_secret()
            return Reply(claimed.status, claimed.body.encode(), {**claimed.headers, "idempotency-replayed": "true"})
        try:
            async with log.hold(user, claimed):
                reply = await answer()
        except Exception:
            await call_in_thread(log.release, user, claimed)
            raise
        kept = DONE if route.has_secret else KeptResponse(reply.status, reply.headers, reply.body.decode())
        await call_in_thread(log.keep, user, claimed, kept)
        return reply

    def _read(
        self,
        route: Route,
        request: Request[Any, Any, Any],
        body: bytes,
        headers: Mapping[str, str],
        project: ProjectHandle | None = None,
    ) -> tuple[Call, PageQuery]:
        """Find the caller and the project, unless it was found before, check the right, and read the arguments."""
        access, page, sent = get_access(request.scope), PageQuery(), None
        name = request.path_params.get(PROJECT)
        if route.find_project is not None:
            sent = read_body(route, body, headers.get("content-type", ""))
            name = route.find_project(sent, access, self.workspace)
        if project is None and name is not None:
            access, project = open_requested(self.workspace, request.scope, str(name), verb=route.verb)
            if route.needs_whole_name:
                check_whole_name(self.workspace, access, project, str(name))
        if route.subject == "account":
            access.require_whole()
        if not (route.is_for_people and self._lets_people_create and access.may_create(route.verb)):
            place = None if project is None else project.id
            access.require(route.right, place, is_reading=route.method == "GET", verb=route.verb)
        if "if-match" in headers and not self._can_match(route):
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("There is no version to match here: leave out If-Match. Nothing was changed."),
            )
        values = read_path(route, request.path_params)
        if route.reads_query:
            arguments, page = read_query(route, request.scope["query_string"])
        else:
            sent = sent or read_body(route, body, headers.get("content-type", ""))
            arguments = {"request": sent} if route.request is not None else select_given(sent)
            if route.find_project is not None:
                arguments.pop(PROJECT_FIELD, None)
        model = self.model
        if project is not None and route.takes_model and (provider := arguments.pop(PROVIDER_FIELD, "")):
            model = choose_provider(project, provider)
        language = choose_language(headers.get("accept-language", ""))
        call = Call(
            access=access,
            workspace=self.workspace,
            project=project,
            path=values,
            arguments=arguments,
            language=language,
            model=model,
            session=find_session_id(read_session(request.scope, headers)),
        )
        return call, page

    def _can_match(self, route: Route) -> bool:
        """Whether a change can be made of one version alone: its verb is one transaction, and its address is read."""
        if route.method == "GET":
            return True
        return self._find_reader(route) is not None and not (route.stream or route.file or is_coroutine(route))

    def _find_reader(self, route: Route) -> Route | None:
        """Return the GET whose version a change is made of: of its address, or of what the address is a part of.

        The title of a chapter, for example, is changed at an address that has no GET: it is a part of the chapter.
        """
        above, _, part = route.path.rpartition("/")
        is_part = route.method in _CHANGING_METHODS and not part.startswith("{") and above.endswith("}")
        return self._readers.get(route.path) or (self._readers.get(above) if is_part else None)

    def _run(self, route: Route, request: Request[Any, Any, Any], body: bytes, headers: Mapping[str, str]) -> Reply:
        with self.workspace.collect_steps() as steps:
            reply = self._make_change(route, request, body, headers)
        if route.changes_access:
            self._on_access_change()
        return _name_step(route, reply, steps)

    def _make_change(
        self, route: Route, request: Request[Any, Any, Any], body: bytes, headers: Mapping[str, str]
    ) -> Reply:
        call, page = self._read(route, request, body, headers)
        if route.method == "GET":
            reply = make_reply(route, call_verb(route, call), call, page)
            if "etag" in reply.headers and has_tag(headers.get("if-none-match", ""), reply.headers["etag"]):
                return Reply(304, headers=reply.headers)
            return reply
        reader, whole, expected = self._readers.get(route.path), self._find_reader(route), headers.get("if-match")
        if whole is None or (reader is None and expected is None):
            return make_reply(route, call_verb(route, call), call)

        def check() -> None:
            """Compare the present version under the lock of the change."""
            if expected is None:
                return
            current = self._read_version(whole, call)
            if not has_tag(expected, current):
                raise FabulaError(
                    Code.HTTP_VERSION_CONFLICT,
                    message("This was changed since you loaded it. Load it again. Nothing was changed."),
                    current=current,
                )

        before = self._find_versions(call)
        with self.workspace.require_before_change(check), self.workspace.collect_versions() as made:
            reply = make_reply(route, call_verb(route, call), call, reader=reader)
        if reader is None or reply.headers or route.method not in ("PUT", "PATCH"):
            return reply
        with suppress(FabulaError):  # after the change, another name may be at the address, or nothing
            tag = self._read_version(reader, call)
            if self.workspace.store.has_versions({**before, **made}):  # else it is of somebody else's change
                return Reply(reply.status, reply.body, make_version_headers(tag))
        return reply

    def _read_version(self, reader: Route, call: Call) -> str:
        """Return the version of what a GET of the address that is called would return."""
        now = replace(call, arguments={}, language=ENGLISH)
        return make_reply(reader, call_verb(reader, now), now).headers["etag"]

    def _find_versions(self, call: Call) -> dict[str, int]:
        """Return the versions of the project and of the person of a call."""
        if call.project is None:
            return {}
        project, user = self.workspace.store.versions(project=call.project.id, user=call.access.user)
        return {f"project:{call.project.id}": project, f"user:{call.access.user}": user}


def _name_step(route: Route, reply: Reply, steps: Sequence[tuple[str, int]]) -> Reply:
    """Name the step of a change in its answer, to take just that one back."""
    if route.method == "GET" or route.right not in _UNDONE_RIGHTS:
        return reply
    named = "{}/{}".format(*steps[-1]) if steps else "none"
    return Reply(reply.status, reply.body, {**reply.headers, _UNDO_STEP: named})


def _register(path: str, handles: Mapping[Method, Handle], media_type: str) -> HTTPRouteHandler:
    """Make a handler. Litestar calls it as a hook before itself, and need not read arguments for it then."""

    by_name = {str(method): answer for method, answer in handles.items()}

    async def handle(request: Request[Any, Any, Any]) -> Any:
        return await by_name[request.method](request)

    make = HTTPRouteHandler(path, http_method=[*handles], status_code=200, media_type=media_type, before_request=handle)
    return make(_answered_before)


async def _answered_before() -> Reply:
    """Stand behind every hook, and be called by none."""
    raise NotImplementedError


def _make_check(scope: Mapping[str, Any], access: Access, project_id: str, route: Route) -> Check:
    """Return what refuses once the caller has lost the right that a stream needs, or may be told other things."""
    first = access.make_principal(project_id, verb=route.verb)

    def check() -> None:
        now = find_access_again(scope)
        principal = now.make_principal(project_id, verb=route.verb)
        now.require(route.right, project_id, verb=route.verb)
        if principal != first:
            raise FabulaError(
                Code.NOT_ALLOWED,
                message("Your role in this project was changed while this was being written. Ask again."),
            )

    return check


def _refuse_secret() -> FabulaError:
    return FabulaError(
        Code.HTTP_KEY_NOT_KEPT,
        message(
            "A request with this Idempotency-Key was done already. A secret is shown once, and nothing of it is kept. "
            "Look what is there. For another secret, send the request with a new key. Nothing more was changed."
        ),
    )


def is_coroutine(route: Route) -> bool:
    """Whether the verb of a route is a coroutine."""
    return inspect.iscoroutinefunction(inspect.unwrap(route.function))


def hash_request(parts: Iterable[bytes]) -> str:
    """Hash what makes a request the same as another one."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
