"""Loading the constraints snapshot from the store."""

from __future__ import annotations

from fabula.constraints import edits
from fabula.constraints import snapshot as rows
from fabula.constraints.model import MAX_CONSTRAINTS, Constraint, Constraints
from fabula.constraints.tables import constraints
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.read_only import open_read_only

P = "coast"


def load(store: Store, before: Constraints | None = None, changed: frozenset[str] | None = None) -> Constraints:
    with store.read(project=P) as reading:
        return rows.load(reading, P, before, changed)


def test_the_constraints_of_a_sample_are_read_back_unchanged(store: Store) -> None:
    for name in ("lantern_coast", "wugang"):
        sample = open_read_only(f"sample:{name}").view.snapshot(Constraints)
        assert sample is not None
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            edits.put_all(tx, sample.constraints)
        with store.read(project=name) as reading:
            assert rows.load(reading, name).constraints == sample.constraints


def test_a_project_without_constraints_has_an_empty_snapshot(store: Store) -> None:
    projects.create(store, "Nothing yet", project_id=P)
    assert load(store).fragments == ()


def test_unchanged_constraints_are_shared(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.put_all(tx, [Constraint(id="a", text="One."), Constraint(id="b", text="Two.")])
    before = load(store)
    assert load(store, before, frozenset()) is before
    assert load(store, before, frozenset({"a"})) is before
    with store.write(project=P) as tx:
        edits.update(tx, "a", {"text": "Other."})
    after = load(store, before, frozenset({"a"}))
    assert [one.text for one in after.constraints] == ["Other.", "Two."]
    assert after.constraints[1] is before.constraints[1]


def test_a_project_over_the_limit_still_opens(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        tx.insert(constraints, *({"id": f"c{n}", "text": "x"} for n in range(MAX_CONSTRAINTS + 1)))
    assert len(load(store).constraints) == MAX_CONSTRAINTS + 1
