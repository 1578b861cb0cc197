"""The project's budget profile and the engine's options, from rows."""

from __future__ import annotations

from fabula.context.budget import BudgetProfile, Limits
from fabula.context.options import AssemblyOptions
from fabula.context.recipes import NOVEL
from fabula.manuscript import projects
from fabula.settings import edits as service
from fabula.settings import snapshot as rows
from fabula.settings.values import read_values
from fabula.store.store import Store
from tests.settings.test_edits import LEAN, P


def load(store: Store, before: BudgetProfile | None = None) -> BudgetProfile | None:
    with store.read(project=P) as reading:
        return rows.load_profile(reading, before)


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
        service.set_value(tx, "lateJoiners", True)
    assert load(store, before) is before
    with store.write(project=P) as tx:
        service.update_budget(tx, BudgetProfile(), expected=1)
    assert load(store, before) == BudgetProfile()


def test_options_are_what_the_project_or_the_person_set(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)

    def options(before: AssemblyOptions | None = None) -> AssemblyOptions | None:
        with store.read(project=P, user="ada") as reading:
            return rows.make_options(read_values(reading), before)

    assert options() is None
    with store.write(project=P, user="ada") as tx:
        service.set_value(tx, "limits.retrievedChunks", 2)
        service.set_value(tx, "maxHistoryTokens", 10, scope="person")
    found = options()
    assert found == AssemblyOptions(retrieved_chunks=2, max_history_tokens=10)
    assert options(found) is found


def test_options_change_what_they_set_and_leave_the_rest() -> None:
    options = AssemblyOptions(input_tokens=9, late_joiners=True)
    assert options.adjust_limits(Limits(at_once=1)) == Limits(at_once=1, input_tokens=9)
    recipe = options.adjust_recipe(NOVEL)
    assert (recipe.late_joiners, recipe.history_tokens, recipe.name) == (True, NOVEL.history_tokens, "novel")
    assert AssemblyOptions().adjust_recipe(NOVEL) == NOVEL
