"""The library: the projects of a store, each as a view that is kept until something in it moves.

A warm request asks the store one question: at which versions do this project, this person and the series
of the project stand? If they stand where the kept view was made, that view is the answer. Otherwise the
change feed says what moved; those snapshots are made anew, and the new view shares all others with the old
one, with all that hangs off them: token sums, the automaton of names, rendered rules. Projects nobody asked
for lately leave when the bound on characters is reached, and so do a project's conversations when there are
many.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from weakref import WeakValueDictionary

from msgspec import Struct

from fabula.codex import edits as codex_service
from fabula.codex import snapshot as codex_rows
from fabula.codex.model import Codex
from fabula.codex.series import together
from fabula.constraints import edits as constraint_service
from fabula.constraints import snapshot as constraint_rows
from fabula.constraints.model import Constraints
from fabula.context.budget import Profile
from fabula.context.recipes.preset import Preset, UserProfile
from fabula.conversation import edits as conversation_service
from fabula.conversation import recent as light
from fabula.conversation import snapshot as conversation_rows
from fabula.conversation.model import Conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.story import Timeline
from fabula.core.view import Project, View
from fabula.formats.lore.read_write import parse
from fabula.lorebook import snapshot as lorebook_rows
from fabula.lorebook.books import Lorebooks
from fabula.manuscript import documents, projects
from fabula.manuscript import snapshot as manuscript_rows
from fabula.manuscript.model import Direction, Manuscript
from fabula.manuscript.series import Membership, is_series
from fabula.memory import edits as memory_service
from fabula.memory import snapshot as memory_rows
from fabula.memory.model import Memory
from fabula.presets import edits as preset_service
from fabula.presets import snapshot as preset_rows
from fabula.search.corpus import Shelf
from fabula.search.embeddings.choice import SETTING as EMBEDDING
from fabula.search.embeddings.choice import Embedding
from fabula.settings import snapshot as setting_rows
from fabula.settings.tables import settings, user_settings
from fabula.skills.files import Skills
from fabula.skills.project_skills import project_skills
from fabula.store.store import OWNER, Store
from fabula.store.transaction import Change, Reading
from fabula.workspace.search_corpus import ROOMS, StoredTalks, shelf_of

MOST_CHARACTERS = 200_000_000  # of texts held; with all that hangs off them some 4 bytes each
MOST_TALKS = 16  # conversations of one project
RELATION_DEPTH = "codex.relationDepth"  # the setting
DEEPEST_RELATION = 5


class Shared(Struct, frozen=True):
    """What the series of a book shares, and the version at which it was read."""

    series: str
    version: int
    codex: Codex | None


class Kept(Struct):
    """A view, and the versions of project, person and series at which it was made."""

    versions: tuple[int, ...]
    view: View
    talks: tuple[str, ...]  # the conversations in it, the latest that was asked for last
    characters: int
    own: View  # without what a series shares
    shared: Shared | None = None

    def serves(self, versions: tuple[int, ...], conversation: str) -> bool:
        """Is this what somebody wants who finds project, person and series at these versions?"""
        return self.versions == versions and (not conversation or conversation in self.talks)


class Library:
    """Views of a store's projects, shared by all threads."""

    def __init__(self, store: Store, *, most_characters: int = MOST_CHARACTERS) -> None:
        self.store = store
        self._most = most_characters
        self._kept: OrderedDict[tuple[str, str], Kept] = OrderedDict()  # the latest that was asked for last
        self._lock = threading.Lock()
        self._making: WeakValueDictionary[tuple[str, str], threading.Lock] = WeakValueDictionary()

    def view(self, project_id: str, *, user: str = OWNER, conversation: str = "") -> View:
        """A project as it stands now, with the conversation that is asked for."""
        key = (project_id, user)
        kept = self._find(key)
        shared = kept.shared if kept is not None else None
        series = shared.series if shared is not None else None
        now = self.store.versions(project=project_id, user=user, series=series)
        if kept is not None and kept.serves(now, conversation):
            return kept.view
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            kept = self._find(key)
            if kept is None or not kept.serves(now, conversation):
                kept = self._make(key, kept, conversation)
                self._keep(key, kept)
        return kept.view

    @property
    def characters(self) -> int:
        """How many characters of texts are held."""
        with self._lock:
            return sum(kept.characters for kept in self._kept.values())

    def _find(self, key: tuple[str, str]) -> Kept | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
            return kept

    def _make(self, key: tuple[str, str], kept: Kept | None, conversation: str) -> Kept:
        """Read what moved; share the rest."""
        project_id, user = key
        before = kept.talks if kept is not None else ()
        talks = before
        if conversation and conversation not in before:
            talks = (*before, conversation)[-MOST_TALKS:]
        try:
            with self.store.read(project=project_id, user=user) as reading:
                versions = reading.version("project"), reading.version("user")
                moves = _Moves(reading, kept)
                old = kept.own if kept is not None else None
                own = _view(reading, moves, old, talks, talks != before)
                own = self._shelved(reading, moves, own, old)
        except FabulaError as error:
            if error.code is Code.PROJECT_NOT_FOUND:
                with self._lock:
                    self._kept.pop(key, None)
            raise
        shared = self._shared(own, kept.shared if kept is not None else None)
        if shared is None:
            return Kept(versions, own, talks, _characters(own), own)
        view = _together(own, shared, kept)
        return Kept((*versions, shared.version), view, talks, _characters(view), own, shared)

    def _shelved(self, reading: Reading, moves: _Moves, view: View, old: View | None) -> View:
        """The view with all that can be searched of it; the shelf before, where nothing on it moved."""
        shelf, talks = (old.room(Shelf), old.room(StoredTalks)) if old is not None else (None, None)
        moved = {room: moves.items(room) for room in ROOMS if room in moves}
        if talks is None or shelf is None or moved:
            talks = StoredTalks(self.store, view.project.id) if talks is None else talks.following(moved)
            said = talks.size(reading)
        elif "manuscript" in moves:
            said = shelf.talks
        else:
            return view
        found = shelf_of(view.project.id, view.room(Manuscript) or Manuscript(), said, shelf)
        return View(view.project, view.timeline, {**view.rooms, Shelf: found, StoredTalks: talks})

    def _shared(self, own: View, before: Shared | None) -> Shared | None:
        """The codex of the series that a book's own row names, read by itself; nothing else of it."""
        member = own.room(Membership)
        if member is None:
            return None
        before = before if before is not None and before.series == member.series else None
        with self.store.read(project=member.series) as reading:
            version = reading.version("project")
            if before is not None and before.version == version:
                return before
            if not is_series(reading):
                return Shared(member.series, version, None)
            changed = reading.changes("project", before.version) if before is not None else None
            moved = None if changed is None else frozenset(one.item for one in changed if one.room == "codex")
            kept = before.codex if before is not None else None
            codex = codex_rows.load(reading, member.series, own.project.language, Timeline(), kept, moved)
        return Shared(member.series, version, codex)

    def _keep(self, key: tuple[str, str], kept: Kept) -> None:
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            held = sum(other.characters for other in self._kept.values())
            while held > self._most and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                held -= oldest.characters


def _together(own: View, shared: Shared, kept: Kept | None) -> View:
    """A book with the codex of its series; the codex before, where neither of the two moved."""
    codex, before = own.room(Codex), kept.view.room(Codex) if kept is not None else None
    if codex is None or shared.codex is None:
        return own
    same = kept is not None and kept.shared is not None and kept.shared.codex is shared.codex
    if kept is None or before is None or not same or kept.own.room(Codex) is not codex:
        merged = together(shared.codex, codex)
        before = merged if before is None else merged.following(before)
    return View(own.project, own.timeline, {**own.rooms, Codex: before})


def _characters(view: View) -> int:
    """How long the texts are that a view holds."""
    story, codex, talks = view.room(Manuscript), view.room(Codex), view.room(Conversations)
    held = 0
    if story is not None:
        held += sum(len(document.text) for document in (*story.documents, *story.notes))
    if codex is not None:
        held += codex.roll.size
    if talks is not None:
        held += sum(len(message.content) for said in talks.messages.values() for message in said)
    return held


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


def _view(reading: Reading, moves: _Moves, before: View | None, talks: Sequence[str], other_talks: bool) -> View:
    """A view of one moment, sharing every snapshot that did not move."""
    old = before or View(Project(id=""))
    rooms = dict(old.rooms)
    project, timeline = old.project, old.timeline
    if "project" in moves:
        project, rooms[Direction], series = projects.snapshot(reading)
        _put(rooms, Membership, None if series is None else Membership(series))
    if "manuscript" in moves:
        manuscript = manuscript_rows.load(reading, old.room(Manuscript), moves.items("manuscript"))
        rooms[Manuscript] = manuscript
        timeline = _same(manuscript.timeline(), timeline)
    # Entries say from which chapter on something is true, in the project's language.
    before_codex = old.room(Codex)
    depth = before_codex.relation_depth if before_codex is not None else None
    if "settings" in moves:
        depth = _relation_depth(reading)
    if (
        "codex" in moves
        or timeline is not old.timeline
        or project != old.project
        or before_codex is None
        or depth != before_codex.relation_depth
    ):
        rooms[Codex] = codex_rows.load(
            reading,
            project.id,
            project.language,
            timeline,
            before_codex,
            moves.items("codex"),
            relation_depth=depth,
        )
    if "constraints" in moves:
        rooms[Constraints] = constraint_rows.load(
            reading, project.id, old.room(Constraints), moves.items("constraints")
        )
    if "memory" in moves or project != old.project:
        rooms[Memory] = memory_rows.load(reading, project, old.room(Memory))
    if "profile" in moves:
        _put(rooms, UserProfile, memory_rows.load_profile(reading))
    if "presets" in moves:
        _put(rooms, Preset, preset_rows.load(reading, old.room(Preset)))
    if "settings" in moves:
        _put(rooms, Profile, setting_rows.load(reading, old.room(Profile)))
        rooms[Skills] = project_skills({row.name: row.value for row in reading.rows(settings)})
        _put(rooms, Embedding, _embedding(reading))
    if "lorebook" in moves:
        _put(
            rooms,
            Lorebooks,
            lorebook_rows.load(reading, project.id, parse, old.room(Lorebooks), moves.items("lorebook")),
        )
    if "conversation" in moves or project != old.project:
        rooms[light.Glimpses] = light.load(reading, project, old.room(light.Glimpses))
    if "conversation" in moves or other_talks:
        rooms[Conversations] = conversation_rows.load(
            reading, project.id, frozenset(talks), old.room(Conversations), moves.items("conversation")
        )
    return View(project, timeline, rooms)


def _relation_depth(reading: Reading) -> int | None:
    """How far relations bring entries along, where the project says so; what makes no sense says nothing."""
    row = reading.row(settings, name=RELATION_DEPTH)
    value = None if row is None else row.value
    sound = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= DEEPEST_RELATION
    return value if sound else None


def _embedding(reading: Reading) -> Embedding | None:
    """Who compares passages by meaning, where the project says so, or else the person."""
    rows = [reading.row(table, name=EMBEDDING) for table in (settings, user_settings)]
    return next((Embedding(row.value) for row in rows if row is not None), None)


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
