"""Loading the codex snapshot: changed entries are read, the others are shared."""

from __future__ import annotations

import pytest

from fabula.codex import Codex, PinMode, Progression, edits, knowledge, progressions
from fabula.codex import snapshot as rows
from fabula.codex.knowledge import KnownFact
from fabula.core.story import Position, Timeline, TimelineEntry
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.read_only import open_read_only
from tests.codex.test_edits import MARA, WILL, P

TIMELINE = Timeline([TimelineEntry(f"ch-{n}") for n in range(1, 10)])


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and two entries in it."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.put_all(tx, (MARA, WILL))
    return store


def load(store: Store, before: Codex | None = None, since: int | None = None) -> Codex:
    """Load a snapshot with the changes that the feed lists."""
    with store.read(project=P) as reading:
        changed = None
        if since is not None:
            changes = reading.changes("project", since)
            assert changes is not None
            changed = frozenset(change.item for change in changes)
        return rows.load(reading, P, "en", TIMELINE, before, changed)


def test_a_sample_story_is_read_back_unchanged(store: Store) -> None:
    for name in ("lantern_coast", "wugang"):
        codex = open_read_only(f"sample:{name}").view.snapshot(Codex)
        assert codex is not None
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            edits.put_all(tx, codex.entries)
        with store.read(project=name) as reading:
            assert rows.load(reading, name, "en", TIMELINE).entries == codex.entries


def test_an_empty_project_has_an_empty_codex(store: Store) -> None:
    projects.create(store, "Nothing yet", project_id=P)
    assert load(store).entries == ()


def test_only_the_changed_entry_is_replaced(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.update(tx, "will", {"description": "Rows at night."})
    after = load(coast, before, at)
    assert after.by_id["mara"] is before.by_id["mara"]
    assert after.by_id["will"].description == "Rows at night."


def test_entries_that_are_shared_are_not_read_again(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.update(tx, "will", {"description": "Rows at night."})
    with coast.read(project=P) as reading:
        assert list(rows.read_entries(reading, {"will"})) == ["will"]
    lied = Codex(P, "en", [before.by_id["will"]], TIMELINE)
    assert list(load(coast, lied, at).by_id) == ["will"], "mara did not move, so nobody looks for her"


def test_new_and_removed_entries_are_noticed(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.remove(tx, "mara")
        edits.create(tx, MARA.__class__(id="new", type="item", name="Whistle"))
    after = load(coast, before, at)
    assert set(after.by_id) == {"will", "new"}
    assert after.by_id["will"].relations == ()
    assert after.entries == load(coast).entries


def test_a_new_progression_changes_its_entry(coast: Store) -> None:
    before = load(coast)
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        progressions.add(tx, "will", Progression("He rows.", Position("ch-2")))
    after = load(coast, before, at)
    assert after.by_id["mara"] is before.by_id["mara"]
    assert [step.text for step in after.by_id["will"].progressions] == ["He rows."]


def test_only_changed_pins_and_knowledge_are_read_again(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.pin_entry(tx, "ch-1", "mara")
        knowledge.put(tx, KnownFact(fact="codex:entity:mara", knower="will", since=Position("ch-2", 1)))
    before = load(coast)
    assert before.pins == {"ch-1": {"mara": PinMode.INCLUDE}}
    assert before.knowledge == {"codex:entity:mara": {"will": Position("ch-2", 1)}}
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.pin_entry(tx, "talk", "will", PinMode.EXCLUDE)
        edits.unpin_entry(tx, "ch-1", "mara")
        knowledge.put(tx, KnownFact(fact="codex:entity:will", knower="mara"))
    after = load(coast, before, at)
    assert after.pins == {"talk": {"will": PinMode.EXCLUDE}}
    assert after.knowledge == {"codex:entity:mara": {"will": Position("ch-2", 1)}, "codex:entity:will": {"mara": None}}
    assert all(after.by_id[entry.id] is entry for entry in before.entries)


def test_the_matcher_is_shared_while_names_are_unchanged(coast: Store) -> None:
    before = load(coast)
    names = before.name_matcher
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.update(tx, "will", {"description": "Rows at night."})
    after = load(coast, before, at)
    assert after.name_matcher is names
    at, _ = coast.versions(project=P)
    with coast.write(project=P) as tx:
        edits.update(tx, "will", {"aliases": ["Willy"]})
    assert [hit.owner for hit in load(coast, after, at).name_matcher.find("Willy came.")] == ["will"]


def test_a_new_order_of_chapters_keeps_the_entries_and_renders_them_again(coast: Store) -> None:
    before = load(coast)
    with coast.read(project=P) as reading:
        turned = Timeline([TimelineEntry("ch-3"), TimelineEntry("ch-1")])
        after = rows.load(reading, P, "en", turned, before, frozenset())
    assert after.by_id["mara"] is before.by_id["mara"]
    assert "from chapter 3 on" in before.render(before.by_id["mara"], 0.0)[1].text
    assert "from chapter 1 on" in after.render(after.by_id["mara"], 0.0)[1].text


def test_without_known_changes_everything_is_read_and_equal_entries_are_shared(coast: Store) -> None:
    before = load(coast)
    with coast.write(project=P) as tx:
        edits.update(tx, "will", {"description": "Rows at night."})
    after = load(coast, before)
    assert after.by_id["mara"] is before.by_id["mara"]
    assert after.by_id["will"].description == "Rows at night."
    with coast.read(project=P) as reading:
        unnamed = rows.load(reading, P, "en", TIMELINE, before, frozenset({""}))
    assert unnamed.entries == after.entries
