"""Tell clients what changed, from the change feed, whichever process changed it.

Clients of the protocol from 2026-07-28 on listen to a stream (`subscriptions/listen`); older ones subscribe to
addresses and get notifications on their connection. Both are served by one watcher, which reads the feed every second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

import anyio
import anyio.abc
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated, ServerEvent

from fabula.core.errors import Code, FabulaError
from fabula.mcp.resources import find_changed_uris
from fabula.workspace.change_feed import ChangeFeed, ProjectChange
from fabula.workspace.workspace import Workspace

log = logging.getLogger("fabula.mcp")

MAX_SESSIONS = 1_000  # of older clients that are remembered, the latest
SEND_SECONDS = 5.0  # that a client has to take a notification
_LISTED_AREAS = frozenset({"", "manuscript", "codex", "recaps", "project"})


class _Subscriber:
    """A connection of an older client, and the addresses that it subscribed to."""

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self.uris: set[str] = set()


class ChangeWatcher:
    """Reads the change feed and tells every client what it asked for."""

    def __init__(
        self, workspace: Workspace, project_id: str | None, list_uris: Callable[[], list[str]], *, seconds: float
    ) -> None:
        """`list_uris` lists what there is, so that clients are told when that changes."""
        self._workspace, self._project_id, self._list_uris, self._seconds = workspace, project_id, list_uris, seconds
        self._subscribers: dict[int, _Subscriber] = {}
        self.bus = InMemorySubscriptionBus()

    def remember(self, session: ServerSession) -> _Subscriber:
        """Remember the connection of an older client."""
        key = id(session.client_params)  # one object for each connection
        found = self._subscribers.get(key)
        if found is None:
            while len(self._subscribers) >= MAX_SESSIONS:
                del self._subscribers[next(iter(self._subscribers))]
            found = self._subscribers[key] = _Subscriber(session)
        return found

    async def watch(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the feed until the store is closed, or the task is cancelled; clients are served whatever happens."""
        feed: ChangeFeed | None = None
        listed: list[str] = []
        is_started = False
        while True:
            try:
                if feed is None:
                    feed = await self._workspace.call(ChangeFeed, self._workspace.store, self._project_id)
                    listed = await self._workspace.call(self._list_uris)
                changes = await self._workspace.call(feed.read_new)
                if any(one.area in _LISTED_AREAS for one in changes):
                    before, listed = listed, await self._workspace.call(self._list_uris)
                    await self._tell(changes, is_list_changed=listed != before)
            except Exception as error:
                if isinstance(error, FabulaError) and error.code is Code.STORE_CLOSED and is_started:
                    return
                log.warning("changes could not be read: %s", getattr(error, "code", type(error).__name__))
            if not is_started:
                is_started = True
                task_status.started()
            await anyio.sleep(self._seconds)

    async def _tell(self, changes: list[ProjectChange], *, is_list_changed: bool) -> None:
        uris = find_changed_uris(changes)
        anything = {one.project_id for one in changes if not one.area}
        for subscriber in self._subscribers.values():
            own = (uri for uri in subscriber.uris if any(f"/{project_id}/" in uri for project_id in anything))
            uris.update(own)
        events: list[ServerEvent] = [ResourceUpdated(uri=uri) for uri in sorted(uris)]
        if is_list_changed:
            events.append(ResourcesListChanged())
        for event in events:
            await self.bus.publish(event)
            for key, subscriber in list(self._subscribers.items()):
                await self._send(key, subscriber, event)

    async def _send(self, key: int, subscriber: _Subscriber, event: ServerEvent) -> None:
        """Tell an older client; one that is gone or takes nothing is forgotten."""
        is_taken = False
        with anyio.move_on_after(SEND_SECONDS), suppress(Exception):
            if isinstance(event, ResourceUpdated):
                if event.uri in subscriber.uris:
                    await subscriber.session.send_resource_updated(event.uri)
            else:
                await subscriber.session.send_resource_list_changed()
            is_taken = True
        if not is_taken:
            self._subscribers.pop(key, None)
