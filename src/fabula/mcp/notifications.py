"""Tell clients what changed, from the change feed, whichever process changed it.

Clients of the protocol from 2026-07-28 on listen to a stream (`subscriptions/listen`); older ones subscribe to
addresses and get notifications on their connection. One watcher serves both. It follows the projects that they asked
about and no others; a client of all projects is also told when there is another project.

What a client may do is asked again before it is told of anything, and every second. It is told of what it may read, or
could read until now, by the rule of the streams of windows (`EventReader`). The store is read in threads of the
workspace, beside the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.abc
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent

from fabula.core.errors import Code, FabulaError
from fabula.mcp.access import McpAccess
from fabula.mcp.resources import can_read, find_project_id, find_updated, list_uris, open_reader
from fabula.workspace.change_feed import ChangeBatch
from fabula.workspace.project_events import EventReader
from fabula.workspace.workspace import Workspace

log = logging.getLogger("fabula.mcp")

MAX_SESSIONS = 1_000  # of older clients that are remembered, the latest
SEND_SECONDS = 5.0  # that a client has to take a notification
_LISTED_AREAS = frozenset({"manuscript", "codex", "recaps", "project"})

Answer = TypeVar("Answer")


class Listener:
    """A client that wants to be told: of some addresses, and perhaps of what there is."""

    def __init__(
        self,
        find_access: Callable[[], McpAccess],
        send: Callable[[ServerEvent], Awaitable[None]],
        *,
        end: Callable[[], None] = lambda: None,
        uris: frozenset[str] = frozenset(),
        wants_lists: bool = False,
    ) -> None:
        """`find_access` says again what the client may do; where it is refused, `end` is called."""
        self.find_access, self.send, self.end = find_access, send, end
        self.uris, self.wants_lists = uris, wants_lists
        self.projects: set[str] = set()  # that it is told of
        self.listed: dict[str, list[str]] = {}  # what there was in a project, where that is known
        self.readers: dict[str, EventReader] = {}  # of the projects of its addresses that it may read

    def list_uris_of(self, project_id: str) -> list[str]:
        """List the addresses of one project that the client wants to be told of."""
        return sorted(one for one in self.uris if find_project_id(one) == project_id)


class ChangeWatcher:
    """Follows projects and tells every client what it asked for."""

    def __init__(self, workspace: Workspace, *, seconds: float) -> None:
        """Every so many seconds it looks whether there is another project."""
        self._workspace, self._seconds = workspace, seconds
        self._listeners: list[Listener] = []
        self._sessions: dict[int, Listener] = {}  # of older clients
        self._following: dict[str, Callable[[], None]] = {}  # what ends it, by project
        self._known_projects: list[str] | None = None
        self._batches: asyncio.Queue[ChangeBatch] = asyncio.Queue()

    async def add(self, listener: Listener) -> None:
        """Tell a client from now on."""
        await self._call(self._begin, listener)
        self._listeners.append(listener)
        for project_id in tuple(listener.projects):
            await self._follow(project_id)

    def remove(self, listener: Listener) -> None:
        """Tell a client nothing more."""
        if listener in self._listeners:
            self._listeners.remove(listener)
        for project_id in set(self._following).difference(*(one.projects for one in self._listeners)):
            self._following.pop(project_id)()

    async def remember(self, session: ServerSession, access: McpAccess) -> Listener:
        """Remember the connection of an older client."""
        key = id(session.client_params)  # one object for each connection
        found = self._sessions.get(key)
        if found is None:
            while len(self._sessions) >= MAX_SESSIONS:
                self._forget(next(iter(self._sessions)))

            async def send(event: ServerEvent) -> None:
                await self._send_to_session(key, session, event)

            found = self._sessions[key] = Listener(lambda: access, send, wants_lists=True)
            await self.add(found)
        return found

    async def subscribe(self, listener: Listener, uri: str) -> None:
        """Tell an older client of one more address."""
        listener.uris |= {uri}
        project_id = find_project_id(uri)
        if project_id is not None:
            await self._call(lambda: self._start_reader(listener, listener.find_access(), project_id))
            listener.projects.add(project_id)
            await self._follow(project_id)

    def unsubscribe(self, listener: Listener, uri: str) -> None:
        """Tell an older client of an address no more."""
        listener.uris -= {uri}

    async def watch(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Tell of changes until the store is closed, or the task is cancelled; clients are served whatever happens."""
        task_status.started()
        try:
            next_look = anyio.current_time() + self._seconds
            while True:
                try:
                    if anyio.current_time() >= next_look:  # also while one batch follows the other
                        next_look = anyio.current_time() + self._seconds
                        await self._look_around()
                    batch = None
                    with anyio.move_on_after(next_look - anyio.current_time()):
                        batch = await self._batches.get()
                    if batch is not None:
                        await self._tell(batch)
                except Exception as error:
                    if isinstance(error, FabulaError) and error.code is Code.STORE_CLOSED:
                        return
                    log.warning("changes could not be told: %s", getattr(error, "code", type(error).__name__))
        finally:
            while self._following:
                self._following.popitem()[1]()

    async def _call(self, verb: Callable[..., Answer], *args: object) -> Answer:
        return await self._workspace.call(verb, *args)

    async def _follow(self, project_id: str) -> None:
        if project_id in self._following:
            return
        self._following[project_id] = lambda: None
        loop = asyncio.get_running_loop()

        def receive(batch: ChangeBatch) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._batches.put_nowait, batch)

        _, end = await self._call(self._workspace.change_follower.follow, project_id, receive)
        if project_id in self._following:
            self._following[project_id] = end
        else:
            end()

    def _begin(self, listener: Listener) -> None:
        """Look at what a client may read now."""
        access = listener.find_access()
        named = {one for one in map(find_project_id, listener.uris) if one is not None}
        for project_id in named:
            self._start_reader(listener, access, project_id)
        listener.projects = named
        if listener.wants_lists:
            listener.projects |= {one.id for one in access.list_projects(self._workspace)}
            if access.project_id is not None:
                for one in listener.projects:
                    listener.listed[one] = list_uris(self._workspace, access, one)

    def _start_reader(self, listener: Listener, access: McpAccess, project_id: str) -> None:
        reader = None if project_id in listener.readers else open_reader(self._workspace, access, project_id)
        if reader is not None:
            reader.start()
            listener.readers[project_id] = reader

    async def _look_around(self) -> None:
        """End what clients get whose access has ended; tell those of all projects of another one, or of one less."""
        found = await self._call(_find_access_of_all, tuple(self._listeners))
        for listener, access in found:
            if access is None:
                self._end(listener)
        every = [
            (listener, access)
            for listener, access in found
            if access is not None and access.project_id is None and listener.wants_lists
        ]
        if not every:
            self._known_projects = None
            return
        before, self._known_projects = self._known_projects, await self._call(self._workspace.store.project_ids)
        if before in (None, self._known_projects):
            return
        for listener, access in every:
            own = {one.id for one in await self._call(access.list_projects, self._workspace)}
            if own != listener.projects:
                for project_id in own - listener.projects:
                    await self._follow(project_id)
                listener.projects = own
                await listener.send(ResourcesListChanged())

    async def _tell(self, batch: ChangeBatch) -> None:
        for listener in [one for one in self._listeners if batch.project_id in one.projects]:
            try:
                events = await self._call(self._find_news, listener, batch)
            except FabulaError as error:
                if error.code is Code.STORE_CLOSED:
                    raise
                if error.code is Code.ACCESS_REQUIRED:
                    self._end(listener)
                else:  # the store is away: what the client knew is forgotten, so it is told of everything next time
                    log.warning("a client was not told of changes: %s", error.code.value)
                continue
            for event in events:
                await listener.send(event)

    def _find_news(self, listener: Listener, batch: ChangeBatch) -> list[ServerEvent]:
        """Return what a client is told of a batch, as far as it may read the project now."""
        access, project_id = listener.find_access(), batch.project_id
        found: list[ServerEvent] = [ResourceUpdated(uri=one) for one in self._find_updated(listener, access, batch)]
        is_listed = batch.changes is None or any(one.area in _LISTED_AREAS for one in batch.changes)
        if is_listed and listener.wants_lists and self._has_other_list(listener, access, project_id):
            found.append(ResourcesListChanged())
        return found

    def _find_updated(self, listener: Listener, access: McpAccess, batch: ChangeBatch) -> list[str]:
        """Return the addresses of a client whose resources changed: all that it may read, where it may read other ones.

        A client that may not read the project is told of it when it may again.
        """
        uris, project_id = listener.list_uris_of(batch.project_id), batch.project_id
        before = listener.readers.pop(project_id, None)
        reader = open_reader(self._workspace, access, project_id) if uris else None
        if reader is None:
            return []
        if before is not None and before.may_know_the_same(reader):
            found = find_updated(before, batch, uris)
            listener.readers[project_id] = before
            return found
        reader.start()
        listener.readers[project_id] = reader
        return [one for one in uris if can_read(self._workspace, access, one)]

    def _has_other_list(self, listener: Listener, access: McpAccess, project_id: str) -> bool:
        """Whether there is something else in a project than before; at first that is not known, and taken for so."""
        before = listener.listed.get(project_id)
        listener.listed[project_id] = list_uris(self._workspace, access, project_id)
        return listener.listed[project_id] != before

    def _end(self, listener: Listener) -> None:
        self.remove(listener)
        listener.end()

    def _forget(self, key: int) -> None:
        self.remove(self._sessions.pop(key))

    async def _send_to_session(self, key: int, session: ServerSession, event: ServerEvent) -> None:
        """Tell an older client; one that is gone or takes nothing is forgotten."""
        is_taken = False
        with anyio.move_on_after(SEND_SECONDS), suppress(Exception):
            if isinstance(event, ResourceUpdated):
                await session.send_resource_updated(event.uri)
            else:
                await session.send_resource_list_changed()
            is_taken = True
        if not is_taken and key in self._sessions:
            self._forget(key)


def _find_access_of_all(listeners: Sequence[Listener]) -> list[tuple[Listener, McpAccess | None]]:
    """Find what clients may do now; None for those who may do nothing any more."""
    found: list[tuple[Listener, McpAccess | None]] = []
    for listener in listeners:
        try:
            found.append((listener, listener.find_access()))
        except FabulaError as error:
            if error.code is not Code.ACCESS_REQUIRED:
                raise
            found.append((listener, None))
    return found
