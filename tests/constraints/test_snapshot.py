"""Constraints from their rows."""

from __future__ import annotations

from fabula.constraints import edits as service
from fabula.constraints import snapshot as rows
from fabula.constraints.model import MOST, Constraint, Constraints
from fabula.constraints.tables import constraints
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.project import Fabula

P = "coast"


def load(store: Store, before: Constraints | None = None, moved: frozenset[str] | None = None) -> Constraints:
    with store.read(project=P) as reading:
        return rows.load(reading, P, before, moved)


def test_a_sample_story_comes_back_from_the_store_as_it_was(store: Store) -> None:
    for name in ("lantern_coast", "wugang"):
        sample = Fabula.open(f"sample:{name}").view.room(Constraints)
        assert sample is not None
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            service.put_all(tx, sample.constraints)
        with store.read(project=name) as reading:
            assert rows.load(reading, name).constraints == sample.constraints


def test_a_project_without_constraints_has_an_empty_snapshot(store: Store) -> None:
    projects.create(store, "Nothing yet", project_id=P)
    assert load(store).fragments == ()


def test_those_that_did_not_change_are_shared(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.put_all(tx, [Constraint(id="a", text="One."), Constraint(id="b", text="Two.")])
    before = load(store)
    assert load(store, before, frozenset()) is before
    assert load(store, before, frozenset({"a"})) is before
    with store.write(project=P) as tx:
        service.update(tx, "a", {"text": "Other."})
    after = load(store, before, frozenset({"a"}))
    assert [one.text for one in after.constraints] == ["Other.", "Two."]
    assert after.constraints[1] is before.constraints[1]


def test_a_project_over_the_limit_still_opens(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        tx.add(constraints, *({"id": f"c{n}", "text": "x"} for n in range(MOST + 1)))
    assert len(load(store).constraints) == MOST + 1
