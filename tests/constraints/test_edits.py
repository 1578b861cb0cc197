"""Constraints in the store (con-1..3)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.constraints import edits as service
from fabula.constraints.model import MOST, Constraint, Kind, Origin
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import Writing

P = "coast"
RULE = Constraint(
    id="r1",
    text="No rain.",
    kind=Kind.WORLD,
    origin=Origin.PROJECT,
    priority=70,
    made="2026-01-01",
    since=Position("ch-1", 10),
    until=Position("ch-5"),
)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and one constraint in it."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.create(tx, RULE)
    return store


def rules(store: Store) -> list[Constraint]:
    with store.read(project=P) as reading:
        return [kept.constraint for kept in service.listed(reading)]


def refusal(store: Store, act: Callable[[Writing], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_constraint_comes_back_as_it_was_created(coast: Store) -> None:
    assert rules(coast) == [RULE]


def test_a_new_one_remembers_when_it_was_made(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.create(tx, Constraint(id="r2", text="No snow."))
        assert service.get(tx, "r2").constraint.made > "2026"


def test_they_are_listed_as_they_stand_in_a_prompt_and_by_kind_and_origin(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.create(tx, Constraint(id="low", text="a", priority=1, made="1"))
        service.create(tx, Constraint(id="old", text="b", made="1"))
        service.create(tx, Constraint(id="new", text="c", made="2"))
        service.create(tx, Constraint(id="graph", text="d", origin=Origin.GRAPH, priority=100))
        assert [kept.constraint.id for kept in service.listed(tx)] == ["new", "old", "low", "r1", "graph"]
        assert [kept.constraint.id for kept in service.listed(tx, kind=Kind.WORLD)] == ["r1"]
        assert [kept.constraint.id for kept in service.listed(tx, origin=Origin.GRAPH)] == ["graph"]


def test_fields_change_with_the_version_they_were_read_at(coast: Store) -> None:
    with coast.write(project=P) as tx:
        values = {"text": "Rain only.", "kind": "style", "priority": 5, "until": None}
        assert service.update(tx, "r1", values, expected=1) == 2
    assert rules(coast) == [replace(RULE, text="Rain only.", kind=Kind.STYLE, priority=5, until=None)]
    assert refusal(coast, lambda tx: service.update(tx, "r1", {"text": "x"}, expected=1)) is Code.CONSTRAINT_CONFLICT
    assert refusal(coast, lambda tx: service.delete(tx, "r1", expected=1)) is Code.CONSTRAINT_CONFLICT


@pytest.mark.parametrize(
    "values",
    [
        {"text": " "},
        {"text": 5},
        {"kind": "mood"},
        {"origin": "nobody"},
        {"priority": 101},
        {"priority": "high"},
        {"since": {"document": "", "offset": 0}},
        {"until": Position("ch-1", 10)},
        {"id": "r9"},
        {"colour": "red"},
    ],
)
def test_what_makes_no_sense_is_refused(coast: Store, values: dict[str, Any]) -> None:
    assert refusal(coast, lambda tx: service.update(tx, "r1", values)) is Code.CONSTRAINT_VALIDATION_ERROR
    assert rules(coast) == [RULE]


def test_a_constraint_made_wrong_in_python_is_refused_too(coast: Store) -> None:
    for odd in (replace(RULE, id="a b"), replace(RULE, id="k", kind=cast("Kind", "mood"))):
        assert refusal(coast, partial(service.create, constraint=odd)) is Code.CONSTRAINT_VALIDATION_ERROR


def test_what_is_not_there_is_not_found(coast: Store) -> None:
    assert refusal(coast, lambda tx: service.update(tx, "none", {"text": "x"})) is Code.CONSTRAINT_NOT_FOUND
    assert refusal(coast, lambda tx: service.delete(tx, "none")) is Code.CONSTRAINT_NOT_FOUND


def test_a_deleted_constraint_is_gone(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.delete(tx, "r1", expected=1)
    assert rules(coast) == []


def test_an_import_keeps_everything_and_replaces_by_id(coast: Store) -> None:
    many = [replace(RULE, text="Fog."), Constraint(id="r2", text="Undated.")]
    with coast.write(project=P) as tx:
        assert service.put_all(tx, many) == 2
        assert service.put_all(tx, many) == 0
    assert rules(coast) == [many[1], many[0]]
    assert refusal(coast, lambda tx: service.put_all(tx, [RULE, RULE])) is Code.CONSTRAINT_VALIDATION_ERROR


def test_the_next_one_over_the_limit_is_refused_and_changes_nothing(coast: Store) -> None:
    many = [Constraint(id=f"c{n}", text="x") for n in range(MOST - 1)]
    with coast.write(project=P) as tx:
        service.put_all(tx, many)
    one_more = Constraint(id="more", text="x")
    assert refusal(coast, lambda tx: service.create(tx, one_more)) is Code.CONSTRAINT_LIMIT
    assert refusal(coast, lambda tx: service.put_all(tx, [*many, one_more])) is Code.CONSTRAINT_LIMIT
    assert len(rules(coast)) == MOST
    with coast.write(project=P) as tx:
        service.put_all(tx, many)
        service.delete(tx, "c0")
        service.create(tx, one_more)


def test_two_writers_at_once_cannot_both_have_the_last_place(coast: Store) -> None:
    said: list[Code | None] = []
    ready = threading.Barrier(6)

    def write(number: int) -> None:
        ready.wait()
        try:
            with coast.write(project=P) as tx:
                service.create(tx, Constraint(id=f"w{number}", text="x"), most=2)
            said.append(None)
        except FabulaError as error:
            said.append(error.code)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert said.count(None) == 1
    assert said.count(Code.CONSTRAINT_LIMIT) == 5
    assert len(rules(coast)) == 2
