"""Statements that the driver executes: values, rows, errors and listeners are as SQLAlchemy has them."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import bindparam, event, text
from sqlalchemy.exc import IntegrityError

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.manuscript.tables import documents
from fabula.settings.tables import settings
from fabula.store.queries import RowQuery
from fabula.store.store import Store
from fabula.store.tables import projects as project_rows
from fabula.store.transaction import WriteTransaction

VALUES = {"flag": True, "list": ["灯塔", 1.5, None]}
BY_NAMES = RowQuery(
    settings, settings.c.name.in_(bindparam("names", expanding=True)), order=(settings.c.name,), only=("name", "value")
)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with a project."""
    projects.create(store, "Coast", project_id="coast")
    return store


def test_json_is_encoded_and_decoded_and_a_row_is_what_sqlalchemy_returns(coast: Store) -> None:
    with coast.write(project="coast") as tx:
        tx.insert(settings, *({"name": name, "value": value} for name, value in VALUES.items()))
        assert tx.change_row(settings, {"name": "flag"}, {"value": {"no": False}})
    with coast.read(project="coast") as reading:
        prepared, built = reading.row(settings, name="list"), reading.rows(settings, settings.c.name == "list")[0]
        assert prepared == built
        assert prepared is not None
        assert (prepared._fields, dict(prepared._mapping)) == (built._fields, dict(built._mapping))
        assert prepared.value == VALUES["list"]
        assert reading.require(settings, name="flag").value == {"no": False}
        assert reading.row(project_rows) == reading.rows(project_rows)[0]


@pytest.mark.parametrize("names", [[], ["flag"], ["flag", "list", "none"], ["list", "flag"]])
def test_a_list_among_the_values_may_have_any_length(coast: Store, names: list[str]) -> None:
    with coast.write(project="coast") as tx:
        tx.insert(settings, *({"name": name, "value": value} for name, value in VALUES.items()))
    expected = [(name, value) for name, value in VALUES.items() if name in names]
    with coast.read(project="coast") as reading:
        assert [tuple(row) for row in reading.query(BY_NAMES, names=names)] == expected
    found = coast.read_statements(project="coast").query(BY_NAMES, names=names)
    assert [row[0] for row in found] == [name for name, _ in expected]


def test_a_missing_value_is_an_error(coast: Store) -> None:
    with pytest.raises((KeyError, FabulaError)), coast.read(project="coast") as reading:
        reading.query(RowQuery(documents, documents.c.id == bindparam("one")))


def test_an_error_of_the_driver_is_one_of_sqlalchemy_with_the_driver_as_its_cause(coast: Store) -> None:
    rows = [{"id": "d", "text": "a secret of the story"}] * 2
    with pytest.raises(FabulaError) as refused, coast.write(project="coast") as tx:
        tx.insert(documents, *rows)
    assert refused.value.code is Code.STORE_DUPLICATE
    cause = refused.value.__cause__
    assert isinstance(cause, IntegrityError)
    assert cause.orig is not None
    assert type(cause.orig).__module__.partition(".")[0] in ("sqlite3", "psycopg")
    assert "secret" not in str(cause), "values are texts of the story, and errors may be logged"
    with coast.read(project="coast") as reading:
        assert reading.count(documents) == 0


def test_a_number_that_is_too_large_is_refused_in_words(coast: Store) -> None:
    with pytest.raises(FabulaError) as refused, coast.write(project="coast") as tx:
        tx.insert(documents, {"id": "d", "place": 1 << 70})
    assert refused.value.code is Code.REQUEST_INVALID


def test_who_listens_to_statements_hears_of_all_of_them(coast: Store) -> None:
    heard: list[str] = []

    def listen(_: Any, __: Any, statement: str, *___: Any) -> None:
        heard.append(statement)

    def change(title: str) -> None:
        with coast.write(project="coast") as tx:
            tx.insert(documents, {"id": title, "title": title}, {"id": f"{title} 2", "title": title})
            assert tx.change_row(documents, {"id": title}, {"title": "Other"})
            assert tx.require(documents, id=title).title == "Other"

    event.listen(coast.engine, "before_cursor_execute", listen)
    change("one")
    event.remove(coast.engine, "before_cursor_execute", listen)
    for words in (("INSERT INTO documents",), ("UPDATE documents",), ("SELECT", "FROM documents"), ("UPDATE heads",)):
        assert any(all(word in statement for word in words) for statement in heard), words
    count = len(heard)
    change("two")
    assert len(heard) == count
    with coast.read(project="coast") as reading:
        assert sorted(row.title for row in reading.rows(documents)) == ["Other", "Other", "one", "two"]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_connection_that_is_lost_within_a_change_is_not_used_again(coast: Store) -> None:
    def lose_connection(tx: WriteTransaction) -> None:
        (pid,) = tx._connection.execute(text("SELECT pg_backend_pid()")).one()
        with coast.engine.connect() as other:
            other.execute(text(f"SELECT pg_terminate_backend({pid})"))
        tx.insert(documents, {"id": "d"})

    with pytest.raises(FabulaError) as refused, coast.write(project="coast") as tx:
        lose_connection(tx)
    assert refused.value.code is Code.STORE_UNREACHABLE
    with coast.write(project="coast") as tx:
        tx.insert(documents, {"id": "d"})
