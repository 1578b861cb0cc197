"""Continuity between requests: kept in the store, or in the process for projects outside it (ctx-8, pre-1).

A request of the same place, recipe, model and vantage goes on where the last one stopped, also in another process.
A place is a document or a branch of a conversation. A branch is known by its newest message at the time of the
request: later requests look for it from their own newest message backwards, so a branch that forked earlier does not
inherit timers of messages it never had.

Every assembly is recorded under an id with the continuity it would hand on, and with its prefix hash. The continuity
takes effect when the answer is recorded, or reported under that id. Rows are written in the background, in batches:
an assembly does not wait for the disk, and losing a row costs cached tokens and nothing else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.continuity import Continuity, is_selection_known, share_selection
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.continuity import edits
from fabula.continuity.edits import MAX_ASSEMBLIES, MAX_CONTINUITIES, MAX_PREFIXES, ContinuityKey
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.core.story import Vantage
from fabula.jobs.triggers.needs import queue_needs
from fabula.store.queries import RowReader
from fabula.store.store import ExpectedVersions, Store

log = logging.getLogger("fabula.workspace")
Value = TypeVar("Value")

DELAY = 0.05  # seconds until queued rows are written
REST = 40  # times as long as writing took, before the next rows are written: under load they are written together
MAX_DELAY = 0.5
POLL_SECONDS = 0.05
OTHERS_SECONDS = 1.0  # after which an assembly of another process should be written


class OutdatedViewError(Exception):
    """A request was read from a view of a project that has changed since."""


class ContinuityKeys(Struct, frozen=True):
    """Where the continuity of a request is found: at its own place, or at those it descends from."""

    place: ContinuityKey
    ancestors: tuple[ContinuityKey, ...]  # of a branch, the nearest first
    skill: str
    prefix: str  # the key of the last prefix hash
    knowers: frozenset[str] = frozenset()  # of a participant: the ids under which they know things
    unknown_documents: frozenset[str] = frozenset()  # and the documents that they do not know


def continuity_keys(request: Request, vantage: Vantage, branch: Sequence[str]) -> ContinuityKeys:
    """Return the keys of a request; `branch` has the newest messages of the active path, the newest first."""
    place = ContinuityKey(
        recipe=request.recipe, model=request.model, vantage=vantage.name, document=request.document_id
    )
    skill = request.skill_id
    if not request.conversation_id:
        return ContinuityKeys(place, (), skill, place.prefix_key(skill))
    leaves = (*branch, "")  # the empty one: before anything was said
    is_speaker = bool(request.speaker_id)
    places = [
        replace(place, document="", branch=f"{request.conversation_id}|{leaf}", is_speaker=is_speaker)
        for leaf in leaves
    ]
    knowers = vantage.knowers if is_speaker else frozenset[str]()
    prefix = places[0].prefix_key(skill)
    return ContinuityKeys(places[0], tuple(places[1:]), skill, prefix, knowers, vantage.unknown_documents)


class ProcessContinuity:
    """Continuity kept in this process alone, within a bound."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: OrderedDict[str, Continuity] = OrderedDict()  # by the keys of places and of families
        self._prefixes: OrderedDict[str, str] = OrderedDict()
        self._assemblies: OrderedDict[str, tuple[ContinuityKeys, Continuity]] = OrderedDict()

    def load(self, project_id: str, keys: ContinuityKeys, expected: ExpectedVersions | None = None) -> Continuity:
        """Return what the last request of this kind left; a project outside of a store has no versions."""
        places = (keys.place, *keys.ancestors)
        families = [key.family for key in places]
        wanted = [*(key.row_key for key in places), *(() if keys.place.branch else families)]
        with self._lock:
            found = self._find(wanted)
            if keys.knowers:
                shared = self._find(families, keys)
                found = share_selection(found, shared, keys.knowers, keys.unknown_documents)
            return replace(found, prefix_hash=self._prefixes.get(keys.prefix, ""))

    def _find(self, names: Sequence[str], keys: ContinuityKeys | None = None) -> Continuity:
        found = (self._places[name] for name in names if name in self._places)
        known = (one for one in found if keys is None or is_selection_known(one, keys.knowers, keys.unknown_documents))
        return next(known, Continuity())

    def record(
        self, project_id: str, keys: ContinuityKeys, result: Result, *, user: str = "", asks_for_needs: bool = False
    ) -> str:
        """Remember an assembly; return its id. No model works in the background here, so none is asked."""
        assembly_id = _make_assembly_id(user)
        with self._lock:
            _put(self._prefixes, keys.prefix, result.stable_prefix_hash, MAX_PREFIXES)
            _put(self._assemblies, assembly_id, (keys, result.continuity), MAX_ASSEMBLIES)
        return assembly_id

    def commit(self, project_id: str, assembly_id: str, *, user: str = "") -> None:
        """Let the next request follow on from this assembly of a user."""
        _check_user(assembly_id, user)
        with self._lock:
            if assembly_id not in self._assemblies:
                raise _unknown_assembly(assembly_id)
            keys, continuity = self._assemblies.pop(assembly_id)
            for key in filter(None, (keys.place.row_key, keys.place.family)):
                _put(self._places, key, continuity, MAX_CONTINUITIES)


def _put(rows: OrderedDict[str, Value], key: str, value: Value, limit: int) -> None:
    rows[key] = value
    rows.move_to_end(key)
    while len(rows) > limit:
        rows.popitem(last=False)


def _make_assembly_id(user: str) -> str:
    """Make the id of an assembly, which ends in the hash of its user, so that nobody else can report its answer."""
    return f"{new_id()}-{_hash_user(user)}"


def _check_user(assembly_id: str, user: str) -> None:
    if assembly_id.rpartition("-")[2] != _hash_user(user):
        raise _unknown_assembly(assembly_id)


@lru_cache(maxsize=256)
def _hash_user(user: str) -> str:
    return sha256(user.encode("utf-8", "replace")).hexdigest()[:12]


def _unknown_assembly(assembly_id: str) -> FabulaError:
    return FabulaError(
        Code.ASSEMBLY_UNKNOWN,
        message(
            "No prompt {name!r} waits for its answer: it was reported already, or is too old. Nothing was changed.",
            name=assembly_id,
        ),
    )


class _Assembly(Struct):
    """One assembly whose rows are still to be written."""

    project_id: str
    keys: ContinuityKeys
    continuity: Continuity
    is_answered: bool = False
    scene: Vantage | None = None  # at which a model is to be asked what it needs


class _Batch(Struct):
    """Assemblies that are written together, by id, the oldest first; which have an answer, and the newest prefixes."""

    assemblies: dict[str, _Assembly] = {}
    answered: list[_Assembly] = []
    prefix_hashes: dict[tuple[str, str], str] = {}  # by project and key


class StoredContinuity:
    """Continuity of all projects of a store. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._queue = _Batch()
        self._writing = _Batch()  # taken by the thread, not yet on the disk
        self._thread: threading.Thread | None = None
        self._is_closing = False

    def load(self, project_id: str, keys: ContinuityKeys, expected: ExpectedVersions | None = None) -> Continuity:
        """Return what the last request of this kind left, with the prefix hash of the last one of its skill.

        A request that was read from a view of `expected` versions is refused where the project has changed since.
        """
        prefix_key = (project_id, keys.prefix)
        with self._changed:
            writing, queue = self._writing, self._queue
            prefix_hash = queue.prefix_hashes.get(prefix_key, writing.prefix_hashes.get(prefix_key))
            answered = [one for one in (*writing.answered, *queue.answered) if one.project_id == project_id]
        place = keys.place
        found = next((one.continuity for one in reversed(answered) if one.keys.place == place), None)
        rows = self._store.read_statements(project=project_id)
        if prefix_hash is None:
            prefix_hash = edits.load_prefix(rows, place, keys.skill)
        is_current = True
        if expected is not None and (found is not None or keys.ancestors or answered):
            is_current, expected = self._store.has_versions(expected.by_owner), None
        if expected is not None:
            is_current, stored = edits.load_at(self._store, expected, place)
            found = stored or Continuity()
        elif found is None and not keys.ancestors:
            others = [] if place.branch else [one for one in answered if one.keys.place.family == place.family]
            newest_relative = others[-1].continuity if others else None
            found = edits.load(rows, place, newest_relative=newest_relative) or Continuity()
        elif found is None:
            if any(one.keys.place in keys.ancestors for one in answered):
                self.flush()  # the store knows which of them is nearest
            found = edits.load(rows, place, *keys.ancestors) or Continuity()
        if keys.knowers:
            shared = _load_shared(rows, keys, answered)
            found = share_selection(found, shared, keys.knowers, keys.unknown_documents)
        if not is_current:
            raise OutdatedViewError
        return replace(found, prefix_hash=prefix_hash)

    def record(
        self, project_id: str, keys: ContinuityKeys, result: Result, *, user: str = "", asks_for_needs: bool = False
    ) -> str:
        """Queue the prefix hash of an assembly and what it would hand on; return the assembly's id.

        With `asks_for_needs` the background model is asked which earlier details the scene needs.
        """
        assembly_id = _make_assembly_id(user)
        with self._changed:
            queue = self._queue
            queue.assemblies[assembly_id] = _Assembly(
                project_id, keys, result.continuity, scene=result.vantage if asks_for_needs else None
            )
            queue.prefix_hashes[project_id, keys.prefix] = result.continuity.prefix_hash
            if self._thread is None and not self._is_closing:
                self._thread = threading.Thread(target=self._run, name="fabula-continuity", daemon=True)
                self._thread.start()
                self._store.before_close(self.close)
            if len(queue.assemblies) == 1:  # else the thread was woken already
                self._changed.notify_all()
        return assembly_id

    def commit(self, project_id: str, assembly_id: str, *, user: str = "") -> None:
        """Let the next request follow on from this assembly of a user, made by this process or another."""
        self._store.require_open()
        _check_user(assembly_id, user)
        with self._changed:
            queued = self._queue.assemblies.get(assembly_id)
            if queued is not None and queued.project_id == project_id:
                if queued.is_answered:
                    raise _unknown_assembly(assembly_id)
                queued.is_answered = True
                self._queue.answered.append(queued)
                return
            self._changed.wait_for(lambda: assembly_id not in self._writing.assemblies)
        self._wait_for_others(project_id, assembly_id)
        with self._store.write(project=project_id) as tx:
            edits.commit_assembly(tx, assembly_id)

    def _wait_for_others(self, project_id: str, assembly_id: str) -> None:
        """Wait for an assembly that another process made a moment ago and has not written yet."""
        rows, until = self._store.read_statements(project=project_id), time.monotonic() + OTHERS_SECONDS
        while not edits.has_assembly(rows, assembly_id) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)

    def flush(self) -> None:
        """Write everything that is queued now; a row that cannot be written is logged and dropped."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing.assemblies)
            self._writing, self._queue = self._queue, _Batch()
        try:
            for project_id in {one.project_id for one in self._writing.assemblies.values()}:
                self._write(project_id)
        finally:
            with self._changed:
                self._writing = _Batch()
                self._changed.notify_all()

    def close(self) -> None:
        """Write what is queued, and end the thread."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
        self.flush()

    def _run(self) -> None:
        delay = DELAY
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._queue.assemblies) or self._is_closing)
                if self._is_closing:
                    return
                self._changed.wait_for(lambda: self._is_closing, timeout=delay)
            start = time.monotonic()
            self.flush()
            delay = min(max(REST * (time.monotonic() - start), DELAY), MAX_DELAY)

    def _write(self, project_id: str) -> None:
        try:
            own = {key: one for key, one in self._writing.assemblies.items() if one.project_id == project_id}
            made = {key: (one.keys.place, one.keys.skill, one.continuity) for key, one in own.items()}
            with self._store.write(project=project_id) as tx:
                edits.save_prefixes(tx, made.values())
                for one in own.values():
                    if one.is_answered:
                        edits.commit(tx, one.keys.place, one.continuity)
                edits.record_assemblies(tx, {key: made[key] for key, one in own.items() if not one.is_answered})
                for scene in dict.fromkeys(one.scene for one in own.values() if one.scene is not None):
                    queue_needs(tx, scene)
        except FabulaError as error:
            log.warning("continuity of project %s was not written: %s", project_id, error.code.value)


def _load_shared(reading: RowReader, keys: ContinuityKeys, answered: Sequence[_Assembly]) -> Continuity:
    """Return what the last speaker left in the nearest branch: among what is still to be written, or stored."""
    places = (keys.place, *keys.ancestors)
    who = (keys.knowers, keys.unknown_documents)
    known = [one for one in answered if is_selection_known(one.continuity, *who)]
    queued = {one.keys.place.family: one.continuity for one in known}  # the newest of each
    near = next((at for at, key in enumerate(places) if queued and key.family in queued), len(places))
    stored = edits.load_shared(reading, *places[:near], knowers=who[0], unknown_documents=who[1])
    if stored is not None:
        return stored
    return queued[places[near].family] if near < len(places) else Continuity()


ContinuityStore = ProcessContinuity | StoredContinuity
