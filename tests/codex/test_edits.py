"""Edits of stored entries, progressions, knowledge and pins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.codex import Entry, Level, PinMode, Progression, Relation, edits, knowledge, progressions
from fabula.codex.knowledge import KnownFact
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P = "coast"
MARA = Entry(
    id="mara",
    type="character",
    name="Mara Venn",
    aliases=("Mara", "the keeper"),
    level=Level.ALWAYS,
    description="Keeps the light.",
    details={"eyes": "grey", "age": "41"},
    tags=("north", "crew"),
    notes="She did it.",
    relations=(Relation("will", "brother"), Relation("nobody", "")),
    known_to=frozenset({"mara", "will"}),
    since=Position("ch-2", 40),
    progressions=(
        Progression("She left the light.", Position("ch-3", 5)),
        Progression("She came back.", Position("ch-6"), frozenset({"will"})),
    ),
)
WILL = Entry(id="will", type="character", name="Will", relations=(Relation("mara", "sister"),))


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and two entries in it."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.put_all(tx, (MARA, WILL))
    return store


def entry(store: Store, ident: str = "mara") -> edits.StoredEntry:
    with store.read(project=P) as reading:
        return edits.get(reading, ident)


def refusal(store: Store, action: Callable[[WriteTransaction], object]) -> Code:
    """The error code of a refused action, which must leave the store unchanged."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        action(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_stored_entry_is_read_back_unchanged(coast: Store) -> None:
    assert entry(coast).entry == MARA
    assert entry(coast).version == 1
    with coast.read(project=P) as reading:
        assert [stored.entry for stored in edits.list_entries(reading)] == [MARA, WILL]


def test_a_new_entry_gets_an_id_and_tidy_names(coast: Store) -> None:
    with coast.write(project=P) as tx:
        ident = edits.create(tx, Entry(id="", type="item", name=" Whistle ", aliases=(" brass ", "", "brass")))
    stored = entry(coast, ident).entry
    assert (stored.name, stored.aliases, stored.level) == ("Whistle", ("brass",), Level.WHEN_DETECTED)


def test_an_id_that_is_taken_is_refused(coast: Store) -> None:
    assert refusal(coast, lambda tx: edits.create(tx, WILL)) is Code.STORE_DUPLICATE


def test_some_fields_change_and_the_others_stay(coast: Store) -> None:
    with coast.write(project=P) as tx:
        values = {"name": "Mara", "level": "manual", "known_to": ["will"], "since": None, "tags": ["south"]}
        assert edits.update(tx, "mara", values, expected=1) == 2
    assert entry(coast).entry == replace(
        MARA, name="Mara", level=Level.MANUAL, known_to=frozenset({"will"}), since=None, tags=("south",)
    )


def test_relations_are_replaced_as_a_list(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.update(tx, "mara", {"relations": [{"to": "will", "kind": "twin"}, Relation("skerrow", "fears")]})
    assert entry(coast).entry.relations == (Relation("will", "twin"), Relation("skerrow", "fears"))


def test_a_stale_edit_is_refused_and_changes_nothing(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.update(tx, "mara", {"name": "First"}, expected=1)
    assert refusal(coast, lambda tx: edits.update(tx, "mara", {"relations": ()}, expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: edits.remove(tx, "mara", expected=1)) is Code.STORE_CONFLICT
    assert entry(coast).entry.relations == MARA.relations


@pytest.mark.parametrize(
    "values",
    [
        {"name": "  "},
        {"name": "two\nlines"},
        {"name": 7},
        {"type": ""},
        {"level": "sometimes"},
        {"aliases": "Mara"},
        {"aliases": ["half \ud800"]},
        {"details": {"age": 41}},
        {"relations": [{"to": "", "kind": "x"}]},
        {"since": {"document": "ch-1", "offset": -1}},
        {"id": "other"},
        {"progressions": ()},
        {"colour": "red"},
    ],
)
def test_invalid_values_are_refused(coast: Store, values: dict[str, Any]) -> None:
    assert refusal(coast, lambda tx: edits.update(tx, "mara", values)) is Code.CODEX_INVALID


@pytest.mark.parametrize("ident", ["a b", "a#1", "a/b", "a|b", "x" * 200])
def test_an_impossible_id_is_refused(coast: Store, ident: str) -> None:
    assert refusal(coast, lambda tx: edits.put(tx, replace(WILL, id=ident))) is Code.CODEX_INVALID


def test_an_unknown_level_is_refused_in_an_import_too(coast: Store) -> None:
    odd = replace(WILL, level=cast("Level", "sometimes"))
    assert refusal(coast, lambda tx: edits.put(tx, odd)) is Code.CODEX_INVALID


def test_missing_items_are_not_found(coast: Store) -> None:
    actions: tuple[Callable[[WriteTransaction], object], ...] = (
        lambda tx: edits.update(tx, "none", {"name": "x"}),
        lambda tx: edits.remove(tx, "none"),
        lambda tx: progressions.add(tx, "none", MARA.progressions[0]),
        lambda tx: progressions.update(tx, "none", {"text": "x"}),
        lambda tx: progressions.remove(tx, "none"),
        lambda tx: edits.pin_entry(tx, "ch-1", "none"),
        lambda tx: edits.unpin_entry(tx, "ch-1", "mara"),
        lambda tx: knowledge.put(tx, KnownFact(fact="codex:entity:none", knower="will")),
        lambda tx: knowledge.remove(tx, "codex:entity:mara", "will"),
    )
    for action in actions:
        assert refusal(coast, action) is Code.STORE_NOT_FOUND


def test_a_replaced_entry_continues_its_version_and_keeps_its_pins(coast: Store) -> None:
    created_at = entry(coast).created_at
    with coast.write(project=P) as tx:
        edits.pin_entry(tx, "ch-1", "mara")
        edits.put(tx, replace(MARA, description="Kept the light.", progressions=()))
    stored = entry(coast)
    assert (stored.version, stored.created_at, stored.entry.progressions) == (2, created_at, ())
    with coast.read(project=P) as reading:
        assert edits.list_pins(reading, "ch-1") == {"ch-1": {"mara": PinMode.INCLUDE}}


def test_an_equal_entry_is_not_written_again(coast: Store) -> None:
    before = coast.versions(project=P)
    with coast.write(project=P) as tx:
        assert edits.put_all(tx, (MARA, WILL)) == 0
    assert coast.versions(project=P) == before


def test_one_id_twice_in_an_import_is_refused(coast: Store) -> None:
    new = replace(WILL, id="new")
    assert refusal(coast, lambda tx: edits.put_all(tx, (new, new))) is Code.CODEX_INVALID


def test_removing_an_entry_removes_its_pins_knowledge_and_relations(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.pin_entry(tx, "ch-1", "mara")
        for fact, knower in (("mara", "will"), ("mara#2", "will"), ("will", "mara"), ("will", "grace")):
            knowledge.put(tx, KnownFact(fact=f"codex:entity:{fact}", knower=knower))
        edits.remove(tx, "mara")
    assert entry(coast, "will").entry.relations == ()
    with coast.read(project=P) as reading:
        assert edits.list_pins(reading) == {}
        assert [(k.fact, k.knower) for k in knowledge.list_known_facts(reading)] == [("codex:entity:will", "grace")]
        assert progressions.list_progressions(reading, "mara") == []


def test_progressions_are_added_moved_changed_and_removed_in_order(coast: Store) -> None:
    with coast.write(project=P) as tx:
        last = progressions.add(tx, "mara", Progression("She stayed.", Position("ch-9")))
        progressions.add(tx, "mara", Progression("Before all.", Position("ch-1")), index=0)
        progressions.move(tx, last, 1)
        progressions.update(tx, last, {"text": "She stayed for good.", "known_to": ["mara"]}, expected=1)
    steps = entry(coast).entry.progressions
    assert [step.text for step in steps] == [
        "Before all.",
        "She stayed for good.",
        "She left the light.",
        "She came back.",
    ]
    assert steps[1].known_to == frozenset({"mara"})
    with coast.write(project=P) as tx:
        progressions.remove(tx, progressions.list_progressions(tx, "mara")[0].id)
        progressions.move(tx, last, 99)
    with coast.read(project=P) as reading:
        found = progressions.list_progressions(reading, "mara")
    assert [step.progression.text[:9] for step in found] == ["She left ", "She came ", "She staye"]
    assert [step.number for step in found] == [1, 2, 3]


def test_a_bad_or_stale_progression_is_refused(coast: Store) -> None:
    with coast.read(project=P) as reading:
        first = progressions.list_progressions(reading, "mara")[0].id
    empty = Progression(" ", Position("ch-1"))
    assert refusal(coast, lambda tx: progressions.add(tx, "mara", empty)) is Code.CODEX_INVALID
    assert refusal(coast, lambda tx: progressions.update(tx, first, {"since": None})) is Code.CODEX_INVALID
    assert refusal(coast, lambda tx: progressions.update(tx, first, {"mood": "x"})) is Code.CODEX_INVALID
    assert refusal(coast, lambda tx: progressions.update(tx, first, {"text": "x"}, expected=7)) is Code.STORE_CONFLICT


def test_knowledge_of_a_progression_follows_its_number(coast: Store) -> None:
    def known(tx: WriteTransaction) -> list[tuple[str, str]]:
        return [(k.fact.removeprefix("codex:entity:"), k.knower) for k in knowledge.list_known_facts(tx)]

    with coast.write(project=P) as tx:
        knowledge.put(tx, KnownFact(fact="codex:entity:mara#1", knower="will", since=Position("ch-4"), note="saw it"))
        knowledge.put(tx, KnownFact(fact="codex:entity:mara#2", knower="grace"))
        progressions.add(tx, "mara", Progression("Before all.", Position("ch-1")), index=0)
        assert known(tx) == [("mara#2", "will"), ("mara#3", "grace")]
        steps = progressions.list_progressions(tx, "mara")
        progressions.move(tx, steps[2].id, 0)
        assert known(tx) == [("mara#1", "grace"), ("mara#3", "will")]
        progressions.remove(tx, steps[2].id)
        assert known(tx) == [("mara#2", "will")]
        stored = read_progressions(tx)
        edits.put(tx, replace(MARA, progressions=(stored[0], Progression("Other.", Position("ch-5")))))
        assert known(tx) == []


def read_progressions(tx: WriteTransaction) -> tuple[Progression, ...]:
    return edits.get(tx, "mara").entry.progressions


def test_knowledge_is_set_changed_listed_and_removed(coast: Store) -> None:
    fact = "codex:entity:mara"
    with coast.write(project=P) as tx:
        knowledge.put(tx, KnownFact(fact=fact, knower="will"))
        knowledge.put(tx, KnownFact(fact=fact, knower="will", since=Position("ch-4", 3), note="told"))
        knowledge.put(tx, KnownFact(fact="constraint:c1", knower="grace"))
    with coast.read(project=P) as reading:
        assert knowledge.list_known_facts(reading, fact=fact) == [
            KnownFact(fact=fact, knower="will", since=Position("ch-4", 3), note="told")
        ]
        assert [k.fact for k in knowledge.list_known_facts(reading, knower="grace")] == ["constraint:c1"]
    with coast.write(project=P) as tx:
        knowledge.remove(tx, fact, "will")
        assert len(knowledge.list_known_facts(tx)) == 1


@pytest.mark.parametrize("fact", ["", "codex:entity:mara#0", "codex:entity:mara#3", "codex:entity:mara#01"])
def test_an_unknown_fact_is_refused(coast: Store, fact: str) -> None:
    assert refusal(coast, lambda tx: knowledge.put(tx, KnownFact(fact=fact, knower="will"))) is Code.CODEX_INVALID


def test_pins_are_set_reversed_and_removed(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.pin_entry(tx, "ch-1", "mara")
        edits.pin_entry(tx, "ch-1", "mara", PinMode.EXCLUDE)
        edits.pin_entry(tx, "talk", "will")
        assert edits.list_pins(tx) == {"ch-1": {"mara": PinMode.EXCLUDE}, "talk": {"will": PinMode.INCLUDE}}
        edits.unpin_entry(tx, "ch-1", "mara")
        assert edits.list_pins(tx, "ch-1") == {}
    odd = cast("PinMode", "perhaps")
    assert refusal(coast, lambda tx: edits.pin_entry(tx, "ch-1", "mara", odd)) is Code.CODEX_INVALID


def test_thousands_of_entries_are_stored_at_once(coast: Store) -> None:
    new_entries = [replace(MARA, id=f"e{n}", name=f"Person {n}") for n in range(5_000)]
    with coast.write(project=P) as tx:
        assert edits.put_all(tx, new_entries) == 5_000
    with coast.write(project=P) as tx:
        assert edits.put_all(tx, [replace(one, notes="again") for one in new_entries]) == 5_000
    assert entry(coast, "e4999").version == 2
