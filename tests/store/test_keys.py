"""Every key begins with the owner of its row, so that a database can be divided by projects."""

from __future__ import annotations

import pytest
from sqlalchemy import Table, inspect

from fabula.store.schema import TableInfo, all_tables
from fabula.store.store import Store

OTHERS = {  # why a table has another key
    "heads": "the version of each owner, by `project:ID` or `user:ID`, in one place for one query",
    "changes": "the change feed, by the same name of the owner",
}


def find_owner(table: Table) -> str:
    info = table.info["table_info"]
    assert isinstance(info, TableInfo)
    return info.owner_column


@pytest.mark.parametrize("table", all_tables(), ids=lambda table: table.name)
def test_the_key_of_a_table_begins_with_its_owner(table: Table) -> None:
    first = next(iter(table.primary_key)).name
    if table.name in OTHERS:
        assert first == "owner"
        assert "table_info" not in table.info, "no package has rows in it"
        return
    assert first == find_owner(table)
    assert first in ("project_id", "user_id")


@pytest.mark.parametrize("table", all_tables(), ids=lambda table: table.name)
def test_foreign_keys_and_unique_keys_stay_within_an_owner(table: Table) -> None:
    if table.name in OTHERS:
        assert not table.foreign_keys
        return
    for constraint in table.foreign_key_constraints:
        own, other = (constraint.column_keys[0], next(iter(constraint.elements)).column.name)
        assert (own, other) == (find_owner(table),) * 2, "a row refers to rows of its own project alone"


def test_the_store_has_these_keys_and_no_table_beside(store: Store) -> None:
    found = inspect(store.engine)
    known = {table.name: table for table in all_tables()}
    assert set(found.get_table_names()) - {"alembic_version"} == set(known)
    for name, table in known.items():
        columns = found.get_pk_constraint(name)["constrained_columns"]
        assert columns[0] == ("owner" if name in OTHERS else find_owner(table)), name
        if name not in OTHERS and table.info["table_info"].across_projects:
            continue  # workers look for due jobs and old answers of all owners
        for index in found.get_indexes(name):
            assert index["column_names"][0] == columns[0], (name, index["name"])
