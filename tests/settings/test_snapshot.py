"""The project's profile from its row."""

from __future__ import annotations

from fabula.context.budget import Profile
from fabula.manuscript import projects
from fabula.settings import edits as service
from fabula.settings import snapshot as rows
from fabula.store.store import Store
from tests.settings.test_edits import LEAN, P


def load(store: Store, before: Profile | None = None) -> Profile | None:
    with store.read(project=P) as reading:
        return rows.load(reading, before)


def test_a_project_without_a_budget_of_its_own_has_no_profile(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    assert load(store) is None


def test_the_profile_is_the_one_that_was_set_and_stays_the_same_while_it_is(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.update_budget(tx, LEAN, expected=0)
    before = load(store)
    assert before == LEAN
    with store.write(project=P) as tx:
        service.put(tx, "dark", True)
    assert load(store, before) is before
    with store.write(project=P) as tx:
        service.update_budget(tx, Profile(), expected=1)
    assert load(store, before) == Profile()
