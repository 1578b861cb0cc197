"""The library: the projects of a store, each as a view that is kept until something in it moves.

A warm request asks the store one question: at which versions do this project and this person stand? If
they stand where the kept view was made, that view is the answer. Otherwise the change feed says what
moved; those snapshots are made anew, and the new view shares all others with the old one, with all that
hangs off them: token sums, the automaton of names, rendered rules. Projects nobody asked for lately leave
when the bound on characters is reached.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from msgspec import Struct

from fabula.codex import service as codex_service
from fabula.codex import snapshot as codex_rows
from fabula.codex.model import Codex
from fabula.constraints import service as constraint_service
from fabula.constraints import snapshot as constraint_rows
from fabula.constraints.model import Constraints
from fabula.context.budget import Profile
from fabula.context.recipes.preset import Preset
from fabula.conversation import service as conversation_service
from fabula.conversation import snapshot as conversation_rows
from fabula.conversation.model import Conversations
from fabula.core.ids import new_id
from fabula.core.story import Timeline
from fabula.core.view import Project, View
from fabula.manuscript import documents, projects
from fabula.manuscript import snapshot as manuscript_rows
from fabula.manuscript.model import Direction, Manuscript
from fabula.memory import service as memory_service
from fabula.memory import snapshot as memory_rows
from fabula.memory.model import Memory
from fabula.presets import service as preset_service
from fabula.presets import snapshot as preset_rows
from fabula.settings import snapshot as setting_rows
from fabula.store.store import OWNER, Store
from fabula.store.transaction import Change, Reading

MOST_CHARACTERS = 200_000_000  # of manuscripts held; with all that hangs off them some 4 bytes each


class Kept(Struct):
    """A view, and the versions of project and person at which it was made."""

    versions: tuple[int, int]
    view: View
    talks: frozenset[str]
    characters: int


class Library:
    """Views of a store's projects, shared by all threads."""

    def __init__(self, store: Store, *, most_characters: int = MOST_CHARACTERS) -> None:
        self.store = store
        self._most = most_characters
        self._kept: dict[tuple[str, str], Kept] = {}
        self._lock = threading.Lock()
        self._making: dict[tuple[str, str], threading.Lock] = {}

    def view(self, project_id: str, *, user: str = OWNER, conversation: str = "") -> View:
        """A project as it stands now, with the conversation that is asked for."""
        key = (project_id, user)
        kept = self._kept.get(key)
        now = self.store.versions(project=project_id, user=user)
        if kept is not None and kept.versions == now and (not conversation or conversation in kept.talks):
            self._freshen(key)
            return kept.view
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            kept = self._kept.get(key)
            if kept is None or kept.versions != now or (conversation and conversation not in kept.talks):
                kept = self._make(key, kept, conversation)
                self._keep(key, kept)
        return kept.view

    @property
    def characters(self) -> int:
        """How many characters of manuscripts are held."""
        return sum(kept.characters for kept in list(self._kept.values()))

    def _make(self, key: tuple[str, str], kept: Kept | None, conversation: str) -> Kept:
        """Read what moved; share the rest."""
        project_id, user = key
        with self.store.read(project=project_id, user=user) as reading:
            versions = reading.version("project"), reading.version("user")
            talks = (kept.talks if kept is not None else frozenset()) | ({conversation} if conversation else set())
            moves = _Moves(reading, kept)
            view = _view(reading, moves, kept.view if kept is not None else None, frozenset(talks))
        manuscript = view.room(Manuscript) or Manuscript()
        characters = sum(len(document.text) for document in (*manuscript.documents, *manuscript.notes))
        return Kept(versions, view, frozenset(talks), characters)

    def _freshen(self, key: tuple[str, str]) -> None:
        if len(self._kept) > 1:
            with self._lock:
                kept = self._kept.pop(key, None)
                if kept is not None:
                    self._kept[key] = kept

    def _keep(self, key: tuple[str, str], kept: Kept) -> None:
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = kept
            held = sum(other.characters for other in self._kept.values())
            while held > self._most and len(self._kept) > 1:
                oldest = next(iter(self._kept))
                held -= self._kept.pop(oldest).characters
                self._making.pop(oldest, None)


class _Moves:
    """What moved since a view was made."""

    def __init__(self, reading: Reading, kept: Kept | None) -> None:
        self._everything = kept is None
        self._items: dict[str, set[str]] = {}
        if kept is not None:
            changed = reading.changes("project", kept.versions[0])
            about_user = reading.changes("user", kept.versions[1])
            if changed is None or about_user is None:
                self._everything = True
            else:
                self._note([*changed, *about_user])

    def _note(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._items.setdefault(change.room, set()).add(change.item)

    def __contains__(self, room: str) -> bool:
        return self._everything or room in self._items

    def items(self, room: str) -> frozenset[str] | None:
        """Which items of a room moved; None for all of them."""
        return None if self._everything else frozenset(self._items.get(room, ()))


def _view(reading: Reading, moves: _Moves, before: View | None, talks: frozenset[str]) -> View:
    """A view of one moment, sharing every snapshot that did not move."""
    old = before or View(Project(id=""))
    rooms = dict(old.rooms)
    project, timeline = old.project, old.timeline
    if "project" in moves:
        project, rooms[Direction], _ = projects.snapshot(reading)
    if "manuscript" in moves:
        manuscript = manuscript_rows.load(reading, old.room(Manuscript), moves.items("manuscript"))
        rooms[Manuscript] = manuscript
        timeline = _same(manuscript.timeline(), timeline)
    # Entries say from which chapter on something is true, in the project's language.
    if "codex" in moves or timeline is not old.timeline or project != old.project:
        rooms[Codex] = codex_rows.load(
            reading, project.id, project.language, timeline, old.room(Codex), moves.items("codex")
        )
    if "constraints" in moves:
        rooms[Constraints] = constraint_rows.load(reading, project.id)
    if "memory" in moves or project != old.project:
        rooms[Memory] = memory_rows.load(reading, project)
    if "presets" in moves:
        _put(rooms, Preset, preset_rows.load(reading))
    if "settings" in moves:
        _put(rooms, Profile, setting_rows.load(reading))
    rooms[Conversations] = conversation_rows.load(
        reading, project.id, talks, old.room(Conversations), moves.items("conversation")
    )
    return View(project, timeline, rooms)


def _same(new: Timeline, old: Timeline) -> Timeline:
    """The timeline before, where nothing about it changed: what was made from it stays good."""
    return old if new.moments == old.moments else new


def _put(rooms: dict[type, object], kind: type, found: object | None) -> None:
    if found is None:
        rooms.pop(kind, None)
    else:
        rooms[kind] = found


def copy_in(store: Store, view: View, *, title: str = "", project_id: str | None = None) -> str:
    """Everything a view holds, as a new project of the store, in one transaction; its id."""
    ident = project_id or new_id()
    project = view.project
    with store.write(project=ident) as tx:
        projects.begin(
            tx,
            ident,
            title=title or project.title or project.id,
            language=project.language,
            identity=project.identity,
            direction=view.room(Direction),
        )
        documents.copy_in(tx, view.room(Manuscript) or Manuscript())
        codex, constraints, memory = view.room(Codex), view.room(Constraints), view.room(Memory)
        talks, preset = view.room(Conversations), view.room(Preset)
        if codex is not None:
            codex_service.put_all(tx, codex.entries)
        if constraints is not None:
            constraint_service.put_all(tx, constraints.constraints)
        if memory is not None:
            memory_service.put(tx, memory)
        if talks is not None:
            conversation_service.put(tx, talks)
        if preset is not None:
            preset_service.put(tx, project.title or ident, preset, active=True)
    return ident
