"""Events for other windows: what changed in a project, by kind and id, never its text.

A caller without limits is told of everything in the kinds that it may read. For anybody else `project.reading` decides:
it is told of what it can read, or could read until now. The stream of a window and the notifications of the MCP server
both ask an `EventReader` what they may tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import groupby

from fabula.store.transaction import Change
from fabula.workspace.change_feed import ChangeBatch
from fabula.workspace.grants import has_limits
from fabula.workspace.playing import HeardChats
from fabula.workspace.project import ProjectHandle
from fabula.workspace.reading import ReadableKind, map_readable
from fabula.workspace.schemas.events import ChangedItem, EventKind, ProjectEvent

KINDS: Mapping[str, EventKind] = {  # by the area of the change feed; of others nobody is told
    "project": "project",
    "manuscript": "chapters",
    "revisions": "revisions",
    "codex": "codex",
    "constraints": "constraints",
    "memory": "memories",
    "presets": "presets",
    "lorebook": "lorebooks",
    "settings": "settings",
    "conversation": "conversations",
    "people": "participants",
    "recaps": "recaps",
    "runs": "runs",
    "needs": "needs",
}
_READABLE: Mapping[ReadableKind, EventKind] = {"chapter": "chapters", "entry": "codex", "recap": "recaps"}
READABLE_KINDS: frozenset[EventKind] = frozenset(_READABLE.values())  # that `project.reading` has
MAX_ITEMS = 200  # of one kind in one event; where more changed, any of them may have
_ENTRY = re.compile(r"(?:codex:entity:)?([^#]+)")  # an entry, or the source of one of its fragments


def list_events(
    batch: ChangeBatch, kinds: Collection[EventKind], *, most: int | None = MAX_ITEMS
) -> list[ProjectEvent] | None:
    """Return one event for each version of a batch that changed something of these kinds; None if it does not say."""
    if batch.changes is None:
        return None
    events = []
    for version, changes in groupby(batch.changes, key=lambda one: one.version):
        if items := _collect(changes, kinds, most):
            events.append(ProjectEvent(version=version, changes=items))
    return events


class ReadableEvents:
    """The events of a principal with limits, who must not learn of what it cannot read."""

    def __init__(self, project: ProjectHandle, *, may_play: bool = False) -> None:
        """With `may_play` it is told of the conversations of its own character, when that hears something."""
        self._project = project
        self._readable = map_readable(project)
        self.count = 0  # of events so far
        self._heard = HeardChats(project) if may_play else None

    def select(self, batch: ChangeBatch) -> list[ProjectEvent]:
        """Return what changed of the things that can be read, or could be read until now, as one event.

        A change of what cannot be read of them, such as private notes, is none. Events are counted, since gaps between
        the versions of a project would tell of such changes.
        """
        before, self._readable = self._readable, map_readable(self._project)
        changed: set[tuple[EventKind, str]] = {
            (_READABLE[kind], ident)
            for kind, ident in before.keys() | self._readable.keys()
            if before.get((kind, ident)) != self._readable.get((kind, ident))
        }
        if self._heard is not None:
            talks = None
            if batch.changes is not None:
                talks = {one.item for one in batch.changes if KINDS.get(one.area) == "conversations"}
            if talks is None or talks:
                changed |= {("conversations", one) for one in self._heard.find_changed(talks)}
        items = tuple(ChangedItem(kind=kind, id=ident) for kind, ident in sorted(changed))
        self.count += bool(items)
        return [ProjectEvent(version=self.count, changes=items)] if items else []


class EventReader:
    """Somebody who follows the changes of a project, and what may be told to them."""

    def __init__(self, project: ProjectHandle, kinds: Collection[EventKind], *, may_play: bool = False) -> None:
        """`kinds` are those that a principal without limits is told of."""
        self.project, self.kinds = project, frozenset(kinds)
        self.is_limited = has_limits(project.principal)
        self._may_play = may_play
        self._readable: ReadableEvents | None = None

    def start(self) -> None:
        """Look at what can be read now, where that is not everything."""
        self._readable = ReadableEvents(self.project, may_play=self._may_play) if self.is_limited else None

    def count(self, version: int) -> int:
        """Return the version of a project as it is told: with limits, the number of events so far."""
        return version if self._readable is None else self._readable.count

    def may_know_the_same(self, other: EventReader) -> bool:
        """Whether another reader may be told the same."""
        own, others = ((one.project.principal, one.kinds, one._may_play) for one in (self, other))
        return own == others

    def select(self, batch: ChangeBatch, *, most: int | None = MAX_ITEMS) -> list[ProjectEvent] | None:
        """Return the events of a batch that may be told; None if it does not say what changed."""
        if self._readable is not None:
            return self._readable.select(batch)
        return list_events(batch, self.kinds, most=most)


def _collect(changes: Iterable[Change], kinds: Collection[EventKind], most: int | None) -> tuple[ChangedItem, ...]:
    by_kind: dict[EventKind, dict[str, None]] = {}
    for change in changes:
        kind = KINDS.get(change.area)
        if kind is not None and kind in kinds:
            matched = _ENTRY.match(change.item) if kind == "codex" else None
            by_kind.setdefault(kind, {})[matched[1] if matched else change.item] = None
    return tuple(
        ChangedItem(kind=kind, id=ident)
        for kind, ids in by_kind.items()
        for ident in (ids if most is None or len(ids) <= most else ("",))
    )
