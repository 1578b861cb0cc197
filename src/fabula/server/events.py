"""The events of a project for other windows: server-sent events that say what changed, whoever changed it (ppl-2).

The change feed of the store is the log of these events, and the version of the project is their id. So a window that
comes back with `Last-Event-ID` misses nothing, in any process. All windows on a project in one process share what was
read of the feed. Whether a caller may still read the project is asked again every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

import msgspec
from litestar import Request, get
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream

from fabula.access.model import Right
from fabula.core.errors import FabulaError
from fabula.core.messages import ENGLISH
from fabula.server.access import Access
from fabula.server.named_projects import open_project, open_requested
from fabula.server.problems import choose_language, describe_refusal
from fabula.server.requests import EVENTS
from fabula.server.routes.route import PROJECT
from fabula.server.security import find_access_again
from fabula.server.streams import CHECK_SECONDS, FINAL_STATUSES, PING, PING_SECONDS, encode_refused
from fabula.workspace.change_feed import ChangeBatch, read_changes
from fabula.workspace.project import ProjectHandle
from fabula.workspace.project_events import KINDS, READABLE_KINDS, EventReader
from fabula.workspace.schemas.events import EventKind, ProjectEvent
from fabula.workspace.workspace import Workspace

log = logging.getLogger("fabula.server")

EVENTS_PATH = "/api/projects/{project:str}/events"
KEPT_BATCHES = 64  # of a project, for windows that are slower than others; older ones are read from the store
_ALL_KINDS = frozenset(KINDS.values())

EncodedEvents = dict[frozenset[EventKind], bytes]  # by the kinds that they are of


class _LiveProject:
    """A project that windows of this process follow: its version, and what changed lately."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.windows = 0
        self.version = 0
        self.news = asyncio.Event()
        self._batches: deque[tuple[ChangeBatch, EncodedEvents]] = deque(maxlen=KEPT_BATCHES)

    def receive(self, batch: ChangeBatch) -> None:
        """Take a batch from the thread that follows the feed."""
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._add, batch)

    def _add(self, batch: ChangeBatch) -> None:
        self.version = batch.version
        self._batches.append((batch, {}))
        self.wake()

    def wake(self) -> None:
        """Wake those who wait for news."""
        self.news.set()
        self.news = asyncio.Event()

    def find(self, since: int) -> tuple[ChangeBatch, EncodedEvents] | None:
        """Return the batch that begins at a version, and its encoded events by the kinds that they are of."""
        return next((one for one in self._batches if one[0].since == since), None)


class EventHub:
    """The windows of this process that follow projects."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._live: dict[str, asyncio.Future[tuple[_LiveProject, Callable[[], None]]]] = {}
        self._is_closing = False

    async def follow(
        self, window: EventReader, last_event: str, find_again: Callable[[], EventReader], *, language: str = ENGLISH
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events behind an id, or from now on; `find_again` says after a while what may still be told.

        A window that may be told nothing any more gets the refusal as its last event, in its language, at the latest
        with the next sign that the server is still here.
        """
        last = b"event: end\ndata: {}\n\n"
        project_id, call, clock = window.project.id, self._workspace.call, asyncio.get_running_loop().time
        entered: tuple[_LiveProject, Callable[[], None]] | None = None
        try:
            live, _ = entered = await self._enter(project_id)
            await call(window.start)
            position, checked = live.version, clock()
            if not last_event:
                yield _encode_state("ready", window.count(position))
            elif window.is_limited or not _is_version(last_event):
                yield _encode_state("reset", window.count(position))
            else:
                batch = await call(read_changes, self._workspace.store, project_id, int(last_event))
                position = batch.version
                yield _encode(window, batch, {}) or PING
            while not self._is_closing:
                news = live.news
                if position >= live.version:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(PING_SECONDS):
                            await news.wait()
                    if position >= live.version:
                        yield PING
                if clock() - checked > CHECK_SECONDS:
                    again, checked = await call(find_again), clock()
                    if not again.may_know_the_same(window):
                        await call(again.start)
                        window, position = again, live.version
                        yield _encode_state("reset", window.count(position))
                while position < live.version:
                    batch, known = live.find(position) or (
                        await call(read_changes, self._workspace.store, project_id, position),  # a slow window
                        {},
                    )
                    position = batch.version
                    if (
                        events := await call(_encode, window, batch, known)
                        if window.is_limited
                        else _encode(window, batch, known)
                    ):
                        yield events
        except FabulaError as error:  # the project is gone, the caller may not read it any more, or the store is away
            log.info("a window was closed: %s", error.code.value)
            problem = describe_refusal(error, language)
            if problem.status in FINAL_STATUSES:
                last = encode_refused(problem)
        finally:
            if entered is not None:
                self._leave(project_id, *entered)
        yield last

    async def close(self) -> None:
        """End the streams of all windows; each says so."""
        self._is_closing = True
        for starting in self._live.values():
            (await starting)[0].wake()

    async def _enter(self, project_id: str) -> tuple[_LiveProject, Callable[[], None]]:
        """Return a project that is followed, and what ends that once its last window is closed."""
        while True:
            starting = self._live.get(project_id)
            if starting is None:
                starting = self._live[project_id] = asyncio.ensure_future(self._start(project_id))
            try:
                live, end = await asyncio.shield(starting)
            except FabulaError:
                self._live.pop(project_id, None)
                raise
            if self._live.get(project_id) is starting:
                live.windows += 1
                return live, end

    async def _start(self, project_id: str) -> tuple[_LiveProject, Callable[[], None]]:
        live = _LiveProject()
        version, end = await self._workspace.call(self._workspace.change_follower.follow, project_id, live.receive)
        live.version = max(live.version, version)
        return live, end

    def _leave(self, project_id: str, live: _LiveProject, end: Callable[[], None]) -> None:
        live.windows -= 1
        if not live.windows:
            end()
            self._live.pop(project_id, None)


def make_event_handler(workspace: Workspace, hub: EventHub) -> HTTPRouteHandler:
    """Make the handler that lets a window follow a project."""

    @get(EVENTS_PATH)
    async def follow(request: Request[Any, Any, Any]) -> Stream:
        """Say what changes in a project, from now on or behind `Last-Event-ID`."""
        name = str(request.path_params[PROJECT])

        def find_again() -> EventReader:
            access = find_access_again(request.scope)
            return _make_reader(open_project(workspace, access, name), access)

        def find_first() -> EventReader:
            access, project = open_requested(workspace, request.scope, name)
            return _make_reader(project, access)

        window = await workspace.call(find_first)
        language = choose_language(request.headers.get("accept-language", ""))
        events = hub.follow(window, request.headers.get("last-event-id", ""), find_again, language=language)
        return Stream(events, media_type=EVENTS)

    return follow


def _make_reader(project: ProjectHandle, access: Access) -> EventReader:
    """Make the reader of a window, with what its caller may be told."""
    access.require(Right.ASSEMBLE, project.id)
    kinds = _ALL_KINDS if access.has_right(Right.READ, project.id) else READABLE_KINDS
    return EventReader(project, kinds, may_play=access.has_right(Right.PLAY, project.id))


def _encode(window: EventReader, batch: ChangeBatch, known: EncodedEvents) -> bytes:
    """Encode the events of a batch for a window; `known` has those that were encoded for other windows."""
    if not window.is_limited and window.kinds in known:
        return known[window.kinds]
    events = window.select(batch)
    encoded = _encode_state("reset", batch.version) if events is None else b"".join(map(_encode_event, events))
    if not window.is_limited:
        known[window.kinds] = encoded
    return encoded


def _is_version(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


def _encode_event(event: ProjectEvent) -> bytes:
    return b"id: %d\nevent: change\ndata: %s\n\n" % (event.version, msgspec.json.encode(event))


def _encode_state(kind: str, version: int) -> bytes:
    """Encode the first event of a window, or one that says that anything may differ."""
    data = msgspec.json.encode(ProjectEvent(version=version))
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (version, kind.encode(), data)
