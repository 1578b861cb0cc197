"""Entries in the store: made, changed, replaced and taken away, with all that hangs on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.codex import edits as service
from fabula.codex import knowledge, pins, progressions
from fabula.codex.knowledge import Knowing
from fabula.codex.model import Entry, Level, Progression, Relation, Wish
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import Writing

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
        service.put_all(tx, (MARA, WILL))
    return store


def entry(store: Store, ident: str = "mara") -> service.Kept:
    with store.read(project=P) as reading:
        return service.get(reading, ident)


def refusal(store: Store, act: Callable[[Writing], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_an_entry_comes_back_as_it_was_put(coast: Store) -> None:
    assert entry(coast).entry == MARA
    assert entry(coast).version == 1
    with coast.read(project=P) as reading:
        assert [kept.entry for kept in service.listed(reading)] == [MARA, WILL]


def test_a_new_entry_gets_an_id_and_tidy_names(coast: Store) -> None:
    with coast.write(project=P) as tx:
        ident = service.create(tx, Entry(id="", type="item", name=" Whistle ", aliases=(" brass ", "", "brass")))
    kept = entry(coast, ident).entry
    assert (kept.name, kept.aliases, kept.level) == ("Whistle", ("brass",), Level.WHEN_DETECTED)


def test_an_id_that_is_taken_is_refused(coast: Store) -> None:
    assert refusal(coast, lambda tx: service.create(tx, WILL)) is Code.STORE_DUPLICATE


def test_some_fields_change_and_the_others_stay(coast: Store) -> None:
    with coast.write(project=P) as tx:
        values = {"name": "Mara", "level": "manual", "known_to": ["will"], "since": None, "tags": ["south"]}
        assert service.update(tx, "mara", values, expected=1) == 2
    assert entry(coast).entry == replace(
        MARA, name="Mara", level=Level.MANUAL, known_to=frozenset({"will"}), since=None, tags=("south",)
    )


def test_relations_are_replaced_as_a_list(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.update(tx, "mara", {"relations": [{"to": "will", "kind": "twin"}, Relation("skerrow", "fears")]})
    assert entry(coast).entry.relations == (Relation("will", "twin"), Relation("skerrow", "fears"))


def test_a_stale_edit_is_refused_and_changes_nothing(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.update(tx, "mara", {"name": "First"}, expected=1)
    assert refusal(coast, lambda tx: service.update(tx, "mara", {"relations": ()}, expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: service.remove(tx, "mara", expected=1)) is Code.STORE_CONFLICT
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
def test_what_makes_no_sense_is_refused(coast: Store, values: dict[str, Any]) -> None:
    assert refusal(coast, lambda tx: service.update(tx, "mara", values)) is Code.CODEX_INVALID


@pytest.mark.parametrize("ident", ["a b", "a#1", "a/b", "a|b", "x" * 200])
def test_an_impossible_id_is_refused(coast: Store, ident: str) -> None:
    assert refusal(coast, lambda tx: service.put(tx, replace(WILL, id=ident))) is Code.CODEX_INVALID


def test_a_level_that_is_none_is_refused_in_an_import_too(coast: Store) -> None:
    odd = replace(WILL, level=cast("Level", "sometimes"))
    assert refusal(coast, lambda tx: service.put(tx, odd)) is Code.CODEX_INVALID


def test_what_is_not_there_is_not_found(coast: Store) -> None:
    acts: tuple[Callable[[Writing], object], ...] = (
        lambda tx: service.update(tx, "none", {"name": "x"}),
        lambda tx: service.remove(tx, "none"),
        lambda tx: progressions.add(tx, "none", MARA.progressions[0]),
        lambda tx: progressions.update(tx, "none", {"text": "x"}),
        lambda tx: progressions.remove(tx, "none"),
        lambda tx: pins.pin(tx, "ch-1", "none"),
        lambda tx: pins.unpin(tx, "ch-1", "mara"),
        lambda tx: knowledge.know(tx, Knowing(fact="codex:entity:none", knower="will")),
        lambda tx: knowledge.unknow(tx, "codex:entity:mara", "will"),
    )
    for act in acts:
        assert refusal(coast, act) is Code.STORE_NOT_FOUND


def test_a_replaced_entry_goes_on_from_its_version_and_keeps_its_pins(coast: Store) -> None:
    made = entry(coast).made
    with coast.write(project=P) as tx:
        pins.pin(tx, "ch-1", "mara")
        service.put(tx, replace(MARA, description="Kept the light.", progressions=()))
    kept = entry(coast)
    assert (kept.version, kept.made, kept.entry.progressions) == (2, made, ())
    with coast.read(project=P) as reading:
        assert pins.listed(reading, "ch-1") == {"ch-1": {"mara": Wish.INCLUDE}}


def test_an_entry_that_is_there_just_so_is_left_alone(coast: Store) -> None:
    before = coast.versions(project=P)
    with coast.write(project=P) as tx:
        assert service.put_all(tx, (MARA, WILL)) == 0
    assert coast.versions(project=P) == before


def test_one_id_twice_in_an_import_is_refused(coast: Store) -> None:
    new = replace(WILL, id="new")
    assert refusal(coast, lambda tx: service.put_all(tx, (new, new))) is Code.CODEX_INVALID


def test_an_entry_goes_with_everything_that_hangs_on_it(coast: Store) -> None:
    with coast.write(project=P) as tx:
        pins.pin(tx, "ch-1", "mara")
        for fact, knower in (("mara", "will"), ("mara#2", "will"), ("will", "mara"), ("will", "grace")):
            knowledge.know(tx, Knowing(fact=f"codex:entity:{fact}", knower=knower))
        service.remove(tx, "mara")
    assert entry(coast, "will").entry.relations == ()
    with coast.read(project=P) as reading:
        assert pins.listed(reading) == {}
        assert [(k.fact, k.knower) for k in knowledge.listed(reading)] == [("codex:entity:will", "grace")]
        assert progressions.listed(reading, "mara") == []


def test_progressions_are_added_moved_changed_and_taken_away_in_order(coast: Store) -> None:
    with coast.write(project=P) as tx:
        last = progressions.add(tx, "mara", Progression("She stayed.", Position("ch-9")))
        progressions.add(tx, "mara", Progression("Before all.", Position("ch-1")), place=0)
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
        progressions.remove(tx, progressions.listed(tx, "mara")[0].id)
        progressions.move(tx, last, 99)
    with coast.read(project=P) as reading:
        found = progressions.listed(reading, "mara")
    assert [step.progression.text[:9] for step in found] == ["She left ", "She came ", "She staye"]
    assert [step.number for step in found] == [1, 2, 3]


def test_a_bad_or_stale_progression_is_refused(coast: Store) -> None:
    with coast.read(project=P) as reading:
        first = progressions.listed(reading, "mara")[0].id
    empty = Progression(" ", Position("ch-1"))
    assert refusal(coast, lambda tx: progressions.add(tx, "mara", empty)) is Code.CODEX_INVALID
    assert refusal(coast, lambda tx: progressions.update(tx, first, {"since": None})) is Code.CODEX_INVALID
    assert refusal(coast, lambda tx: progressions.update(tx, first, {"mood": "x"})) is Code.CODEX_INVALID
    assert refusal(coast, lambda tx: progressions.update(tx, first, {"text": "x"}, expected=7)) is Code.STORE_CONFLICT


def test_who_knows_a_progression_keeps_up_with_its_number(coast: Store) -> None:
    def known(tx: Writing) -> list[tuple[str, str]]:
        return [(k.fact.removeprefix("codex:entity:"), k.knower) for k in knowledge.listed(tx)]

    with coast.write(project=P) as tx:
        knowledge.know(tx, Knowing(fact="codex:entity:mara#1", knower="will", since=Position("ch-4"), note="saw it"))
        knowledge.know(tx, Knowing(fact="codex:entity:mara#2", knower="grace"))
        progressions.add(tx, "mara", Progression("Before all.", Position("ch-1")), place=0)
        assert known(tx) == [("mara#2", "will"), ("mara#3", "grace")]
        steps = progressions.listed(tx, "mara")
        progressions.move(tx, steps[2].id, 0)
        assert known(tx) == [("mara#1", "grace"), ("mara#3", "will")]
        progressions.remove(tx, steps[2].id)
        assert known(tx) == [("mara#2", "will")]
        told = entry_steps(tx)
        service.put(tx, replace(MARA, progressions=(told[0], Progression("Other.", Position("ch-5")))))
        assert known(tx) == []


def entry_steps(tx: Writing) -> tuple[Progression, ...]:
    return service.get(tx, "mara").entry.progressions


def test_who_knows_what_is_set_changed_listed_and_unset(coast: Store) -> None:
    fact = "codex:entity:mara"
    with coast.write(project=P) as tx:
        knowledge.know(tx, Knowing(fact=fact, knower="will"))
        knowledge.know(tx, Knowing(fact=fact, knower="will", since=Position("ch-4", 3), note="told"))
        knowledge.know(tx, Knowing(fact="constraint:c1", knower="grace"))
    with coast.read(project=P) as reading:
        assert knowledge.listed(reading, fact=fact) == [
            Knowing(fact=fact, knower="will", since=Position("ch-4", 3), note="told")
        ]
        assert [k.fact for k in knowledge.listed(reading, knower="grace")] == ["constraint:c1"]
    with coast.write(project=P) as tx:
        knowledge.unknow(tx, fact, "will")
        assert len(knowledge.listed(tx)) == 1


@pytest.mark.parametrize("fact", ["", "codex:entity:mara#0", "codex:entity:mara#3", "codex:entity:mara#01"])
def test_a_fact_that_is_none_is_refused(coast: Store, fact: str) -> None:
    assert refusal(coast, lambda tx: knowledge.know(tx, Knowing(fact=fact, knower="will"))) is Code.CODEX_INVALID


def test_pins_are_set_turned_round_and_unset(coast: Store) -> None:
    with coast.write(project=P) as tx:
        pins.pin(tx, "ch-1", "mara")
        pins.pin(tx, "ch-1", "mara", Wish.EXCLUDE)
        pins.pin(tx, "talk", "will")
        assert pins.listed(tx) == {"ch-1": {"mara": Wish.EXCLUDE}, "talk": {"will": Wish.INCLUDE}}
        pins.unpin(tx, "ch-1", "mara")
        assert pins.listed(tx, "ch-1") == {}
    odd = cast("Wish", "perhaps")
    assert refusal(coast, lambda tx: pins.pin(tx, "ch-1", "mara", odd)) is Code.CODEX_INVALID


def test_thousands_of_entries_are_put_in_a_moment(coast: Store) -> None:
    many = [replace(MARA, id=f"e{n}", name=f"Person {n}") for n in range(5_000)]
    with coast.write(project=P) as tx:
        assert service.put_all(tx, many) == 5_000
    with coast.write(project=P) as tx:
        assert service.put_all(tx, [replace(one, notes="again") for one in many]) == 5_000
    assert entry(coast, "e4999").version == 2
