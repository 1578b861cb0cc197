"""Edits of stored constraints (con-1, con-2, con-3)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.constraints import edits
from fabula.constraints.model import MAX_CONSTRAINTS, Constraint, ConstraintKind, ConstraintOrigin
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P = "coast"
RULE = Constraint(
    id="r1",
    text="No rain.",
    kind=ConstraintKind.WORLD,
    origin=ConstraintOrigin.PROJECT,
    priority=70,
    created_at="2026-01-01",
    since=Position("ch-1", 10),
    until=Position("ch-5"),
)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and one constraint in it."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.create(tx, RULE)
    return store


def rules(store: Store) -> list[Constraint]:
    with store.read(project=P) as reading:
        return [stored.constraint for stored in edits.list_constraints(reading)]


def refusal(store: Store, act: Callable[[WriteTransaction], object]) -> Code:
    """The error code of a refused action, which must leave the store unchanged."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_stored_constraint_is_read_back_unchanged(coast: Store) -> None:
    assert rules(coast) == [RULE]


def test_a_new_constraint_gets_a_creation_time(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.create(tx, Constraint(id="r2", text="No snow."))
        assert edits.get(tx, "r2").constraint.created_at > "2026"


def test_constraints_are_listed_in_prompt_order_and_by_kind_and_origin(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.create(tx, Constraint(id="low", text="a", priority=1, created_at="1"))
        edits.create(tx, Constraint(id="old", text="b", created_at="1"))
        edits.create(tx, Constraint(id="new", text="c", created_at="2"))
        edits.create(tx, Constraint(id="graph", text="d", origin=ConstraintOrigin.GRAPH, priority=100))
        assert [stored.constraint.id for stored in edits.list_constraints(tx)] == ["new", "old", "low", "r1", "graph"]
        assert [stored.constraint.id for stored in edits.list_constraints(tx, kind=ConstraintKind.WORLD)] == ["r1"]
        assert [stored.constraint.id for stored in edits.list_constraints(tx, origin=ConstraintOrigin.GRAPH)] == [
            "graph"
        ]


def test_fields_change_with_the_version_they_were_read_at(coast: Store) -> None:
    with coast.write(project=P) as tx:
        values = {"text": "Rain only.", "kind": "style", "priority": 5, "until": None}
        assert edits.update(tx, "r1", values, expected=1) == 2
    assert rules(coast) == [replace(RULE, text="Rain only.", kind=ConstraintKind.STYLE, priority=5, until=None)]
    assert refusal(coast, lambda tx: edits.update(tx, "r1", {"text": "x"}, expected=1)) is Code.CONSTRAINT_CONFLICT
    assert refusal(coast, lambda tx: edits.delete(tx, "r1", expected=1)) is Code.CONSTRAINT_CONFLICT


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
def test_invalid_values_are_refused(coast: Store, values: dict[str, Any]) -> None:
    assert refusal(coast, lambda tx: edits.update(tx, "r1", values)) is Code.CONSTRAINT_VALIDATION_ERROR
    assert rules(coast) == [RULE]


def test_an_invalid_constraint_made_in_python_is_refused(coast: Store) -> None:
    for odd in (replace(RULE, id="a b"), replace(RULE, id="k", kind=cast("ConstraintKind", "mood"))):
        assert refusal(coast, partial(edits.create, constraint=odd)) is Code.CONSTRAINT_VALIDATION_ERROR


def test_missing_constraints_are_not_found(coast: Store) -> None:
    assert refusal(coast, lambda tx: edits.update(tx, "none", {"text": "x"})) is Code.CONSTRAINT_NOT_FOUND
    assert refusal(coast, lambda tx: edits.delete(tx, "none")) is Code.CONSTRAINT_NOT_FOUND


def test_a_deleted_constraint_is_gone(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.delete(tx, "r1", expected=1)
    assert rules(coast) == []


def test_an_import_stores_everything_and_replaces_by_id(coast: Store) -> None:
    new_constraints = [replace(RULE, text="Fog."), Constraint(id="r2", text="Undated.")]
    with coast.write(project=P) as tx:
        assert edits.put_all(tx, new_constraints) == 2
        assert edits.put_all(tx, new_constraints) == 0
    assert rules(coast) == [new_constraints[1], new_constraints[0]]
    assert refusal(coast, lambda tx: edits.put_all(tx, [RULE, RULE])) is Code.CONSTRAINT_VALIDATION_ERROR


def test_the_next_one_over_the_limit_is_refused_and_changes_nothing(coast: Store) -> None:
    new_constraints = [Constraint(id=f"c{n}", text="x") for n in range(MAX_CONSTRAINTS - 1)]
    with coast.write(project=P) as tx:
        edits.put_all(tx, new_constraints)
    one_more = Constraint(id="more", text="x")
    assert refusal(coast, lambda tx: edits.create(tx, one_more)) is Code.CONSTRAINT_LIMIT
    assert refusal(coast, lambda tx: edits.put_all(tx, [*new_constraints, one_more])) is Code.CONSTRAINT_LIMIT
    assert len(rules(coast)) == MAX_CONSTRAINTS
    with coast.write(project=P) as tx:
        edits.put_all(tx, new_constraints)
        edits.delete(tx, "c0")
        edits.create(tx, one_more)


def test_two_writers_at_once_cannot_both_have_the_last_place(coast: Store) -> None:
    outcomes: list[Code | None] = []
    ready = threading.Barrier(6)

    def write(number: int) -> None:
        ready.wait()
        try:
            with coast.write(project=P) as tx:
                edits.create(tx, Constraint(id=f"w{number}", text="x"), limit=2)
            outcomes.append(None)
        except FabulaError as error:
            outcomes.append(error.code)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert outcomes.count(None) == 1
    assert outcomes.count(Code.CONSTRAINT_LIMIT) == 5
    assert len(rules(coast)) == 2
