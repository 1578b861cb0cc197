"""Tell clients what changed, from the change feed, whichever process changed it.

Clients of the protocol from 2026-07-28 on listen to a stream (`subscriptions/listen`); older ones subscribe to
addresses and get notifications on their connection. One watcher serves both. It follows the projects that they asked
about and no others; a client of all projects is also told when there is another project.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.abc
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent

from fabula.core.errors import Code, FabulaError
from fabula.mcp.access import McpAccess
from fabula.mcp.resources import find_changed_uris, find_project_id, list_uris
from fabula.workspace.change_feed import ChangeBatch
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
        uris: frozenset[str] = frozenset(),
        wants_lists: bool = False,
    ) -> None:
        """`find_access` says again what the client may do; it raises where that is nothing any more."""
        self.find_access, self.send, self.uris, self.wants_lists = find_access, send, uris, wants_lists
        self.projects: set[str] = set()  # that it is told of
        self.listed: dict[str, list[str]] = {}  # what there was in a project, where that is known


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
        access = listener.find_access()
        listener.projects = {one for one in map(find_project_id, listener.uris) if one is not None}
        if listener.wants_lists:
            listener.projects |= {one.id for one in await self._call(access.list_projects, self._workspace)}
            if access.project_id is not None:
                for one in listener.projects:
                    listener.listed[one] = await self._call(list_uris, self._workspace, access, one)
        self._listeners.append(listener)
        for project_id in listener.projects:
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
            listener.projects.add(project_id)
            await self._follow(project_id)

    def unsubscribe(self, listener: Listener, uri: str) -> None:
        """Tell an older client of an address no more."""
        listener.uris -= {uri}

    async def watch(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Tell of changes until the store is closed, or the task is cancelled; clients are served whatever happens."""
        task_status.started()
        try:
            while True:
                try:
                    batch = None
                    with anyio.move_on_after(self._seconds):
                        batch = await self._batches.get()
                    if batch is not None:
                        await self._tell(batch)
                    else:
                        await self._look_for_projects()
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

    async def _look_for_projects(self) -> None:
        """Tell clients of all projects where there is another one, or one is gone."""
        every = [one for one in self._listeners if one.wants_lists and one.find_access().project_id is None]
        if not every:
            self._known_projects = None
            return
        before, self._known_projects = self._known_projects, await self._call(self._workspace.store.project_ids)
        if before in (None, self._known_projects):
            return
        for listener in every:
            own = {one.id for one in await self._call(listener.find_access().list_projects, self._workspace)}
            if own != listener.projects:
                for project_id in own - listener.projects:
                    await self._follow(project_id)
                listener.projects = own
                await listener.send(ResourcesListChanged())

    async def _tell(self, batch: ChangeBatch) -> None:
        uris = find_changed_uris(batch)
        is_listed = batch.changes is None or any(one.area in _LISTED_AREAS for one in batch.changes)
        for listener in [one for one in self._listeners if batch.project_id in one.projects]:
            try:
                access = listener.find_access()
                own = {one for one in listener.uris if find_project_id(one) == batch.project_id}
                for uri in sorted(own if batch.changes is None else own & uris):
                    await listener.send(ResourceUpdated(uri=uri))
                if (
                    is_listed
                    and listener.wants_lists
                    and await self._has_other_list(listener, access, batch.project_id)
                ):
                    await listener.send(ResourcesListChanged())
            except FabulaError as error:
                if error.code is Code.STORE_CLOSED:
                    raise
                self.remove(listener)

    async def _has_other_list(self, listener: Listener, access: McpAccess, project_id: str) -> bool:
        """Whether there is something else in a project than before; at first that is not known, and taken for so."""
        before = listener.listed.get(project_id)
        listener.listed[project_id] = await self._call(list_uris, self._workspace, access, project_id)
        return listener.listed[project_id] != before

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
