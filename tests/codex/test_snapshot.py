"""The codex from its rows: what moved is read, the rest is shared."""

from __future__ import annotations

import pytest

from fabula.codex import edits as service
from fabula.codex import knowledge, pins, progressions
from fabula.codex import snapshot as rows
from fabula.codex.knowledge import Knowing
from fabula.codex.model import Codex, Progression, Wish
from fabula.core.story import Moment, Position, Timeline
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.project import Fabula
from tests.codex.test_edits import MARA, WILL, P

TIMELINE = Timeline([Moment(f"ch-{n}") for n in range(1, 10)])


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and two entries in it."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.put_all(tx, (MARA, WILL))
    return store


def load(store: Store, before: Codex | None = None, since: int | None = None) -> Codex:
    """A snapshot, with what the feed says has moved."""
    with store.read(project=P) as reading:
        moved = None
        if since is not None:
            changes = reading.changes("project", since)
            assert changes is not None
            moved = frozenset(change.item for change in changes)
        return rows.load(reading, P, "en", TIMELINE, before, moved)


def test_a_sample_story_comes_back_from_the_store_as_it_was(store: Store) -> None:
    for name in ("lantern_coast", "wugang"):
        codex = Fabula.open(f"sample:{name}").view.room(Codex)
        assert codex is not None
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            service.put_all(tx, codex.entries)
        with store.read(project=name) as reading:
            assert rows.load(reading, name, "en", TIMELINE).entries == codex.entries


def test_an_empty_project_has_an_empty_codex(store: Store) -> None:
    projects.create(store, "Nothing yet", project_id=P)
    assert load(store).entries == ()


def test_only_the_entry_that_moved_is_replaced(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.update(tx, "will", {"description": "Rows at night."})
    after = load(coast, before, at)
    assert after.by_id["mara"] is before.by_id["mara"]
    assert after.by_id["will"].description == "Rows at night."


def test_entries_that_are_shared_are_not_read_again(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.update(tx, "will", {"description": "Rows at night."})
    with coast.read(project=P) as reading:
        assert list(rows.read(reading, {"will"})) == ["will"]
    lied = Codex(P, "en", [before.by_id["will"]], TIMELINE)
    assert list(load(coast, lied, at).by_id) == ["will"], "mara did not move, so nobody looks for her"


def test_new_entries_come_and_removed_ones_go(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.remove(tx, "mara")
        service.create(tx, MARA.__class__(id="new", type="item", name="Whistle"))
    after = load(coast, before, at)
    assert set(after.by_id) == {"will", "new"}
    assert after.by_id["will"].relations == ()
    assert after.entries == load(coast).entries


def test_a_progression_moves_its_entry(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        progressions.add(tx, "will", Progression("He rows.", Position("ch-2")))
    after = load(coast, before, at)
    assert after.by_id["mara"] is before.by_id["mara"]
    assert [step.text for step in after.by_id["will"].progressions] == ["He rows."]


def test_pins_and_knowledge_are_read_where_they_moved_and_kept_where_not(coast: Store) -> None:
    with coast.write(project=P) as tx:
        pins.pin(tx, "ch-1", "mara")
        knowledge.know(tx, Knowing(fact="codex:entity:mara", knower="will", since=Position("ch-2", 1)))
    before = load(coast)
    assert before.pins == {"ch-1": {"mara": Wish.INCLUDE}}
    assert before.knowledge == {"codex:entity:mara": {"will": Position("ch-2", 1)}}
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        pins.pin(tx, "talk", "will", Wish.EXCLUDE)
        pins.unpin(tx, "ch-1", "mara")
        knowledge.know(tx, Knowing(fact="codex:entity:will", knower="mara"))
    after = load(coast, before, at)
    assert after.pins == {"talk": {"will": Wish.EXCLUDE}}
    assert after.knowledge == {"codex:entity:mara": {"will": Position("ch-2", 1)}, "codex:entity:will": {"mara": None}}
    assert all(after.by_id[entry.id] is entry for entry in before.entries)


def test_the_automaton_is_shared_while_every_name_is_the_same(coast: Store) -> None:
    before = load(coast)
    names = before.names
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.update(tx, "will", {"description": "Rows at night."})
    after = load(coast, before, at)
    assert after.names is names
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        service.update(tx, "will", {"aliases": ["Willy"]})
    assert [hit.owner for hit in load(coast, after, at).names.find("Willy came.")] == ["will"]


def test_a_new_order_of_chapters_keeps_the_entries_and_renews_what_is_said_of_them(coast: Store) -> None:
    before = load(coast)
    with coast.read(project=P) as reading:
        turned = Timeline([Moment("ch-3"), Moment("ch-1")])
        after = rows.load(reading, P, "en", turned, before, frozenset())
    assert after.by_id["mara"] is before.by_id["mara"]
    assert "from chapter 3 on" in before.rendered(before.by_id["mara"], 0.0)[1].text
    assert "from chapter 1 on" in after.rendered(after.by_id["mara"], 0.0)[1].text


def test_when_it_is_unknown_what_moved_everything_is_read_and_what_is_equal_is_shared(coast: Store) -> None:
    before = load(coast)
    with coast.write(project=P) as tx:
        service.update(tx, "will", {"description": "Rows at night."})
    after = load(coast, before)
    assert after.by_id["mara"] is before.by_id["mara"]
    assert after.by_id["will"].description == "Rows at night."
    with coast.read(project=P) as reading:
        unnamed = rows.load(reading, P, "en", TIMELINE, before, frozenset({""}))
    assert unnamed.entries == after.entries
