"""The doctor notices what is wrong."""

from __future__ import annotations

from sqlalchemy import text

from fabula.manuscript import projects
from fabula.store.backup import back_up
from fabula.store.doctor import HealthState, examine
from fabula.store.store import Store


def states(store: Store) -> dict[str, HealthState]:
    return {found.name: found.state for found in examine(store)}


def test_a_fresh_store_has_no_copy_and_is_otherwise_well(store: Store) -> None:
    projects.create(store, "One")
    found = states(store)
    assert found.pop("copies") is HealthState.WARNING
    found.pop("disk")
    assert set(found.values()) == {HealthState.HEALTHY}


def test_a_version_that_is_not_what_the_feed_says_is_noticed(store: Store) -> None:
    ident = projects.create(store, "One")
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE heads SET version = 99 WHERE owner = :owner"), {"owner": f"project:{ident}"})
    assert states(store)["versions"] is HealthState.FAILED


def test_tables_of_another_version_are_noticed(store: Store) -> None:
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    assert states(store)["tables"] is HealthState.FAILED


def test_what_would_be_lost_is_counted_from_the_newest_copy(store: Store) -> None:
    projects.create(store, "One")
    if store.file is not None:
        back_up(store.file)
        assert states(store)["copies"] is HealthState.HEALTHY
