"""Checks are stored and saved with their constraints, and older stores and saves still load."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from msgspec.structs import replace
from sqlalchemy import Engine, MetaData, text

from fabula.codex import Entry, Progression
from fabula.codex import edits as codex
from fabula.constraints import edits
from fabula.constraints.model import BannedWords, Constraint, ForbiddenNames, NarrativePerson, SentenceLength, TextCheck
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import projects
from fabula.store import upgrade as migrate
from fabula.store.connections import begin
from fabula.store.save.loading import load_save
from fabula.store.save.saving import save_project
from fabula.store.schema import all_tables
from fabula.store.store import Store

P = "coast"
CHECKS: list[TextCheck] = [
    BannedWords(words=("suddenly", "忽然"), narration_only=True),
    SentenceLength(max_length=25),
    NarrativePerson(person="third"),
    ForbiddenNames(names=("Ephraim",), before_number=5),
]
MARA = Entry(
    id="mara", type="character", name="Mara", progressions=(Progression("", Position("ch-1"), aliases=("the Fox",)),)
)


@pytest.fixture
def coast(store: Store) -> Store:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        for number, check in enumerate(CHECKS):
            edits.create(tx, Constraint(id=f"c{number}", text="-", created_at="1", check=check))
        codex.put(tx, MARA)
    return store


def stored_checks(store: Store, project: str = P) -> list[TextCheck | None]:
    with store.read(project=project) as reading:
        return [stored.constraint.check for stored in edits.list_constraints(reading)]


def test_a_stored_check_is_read_back_unchanged(coast: Store) -> None:
    assert stored_checks(coast) == CHECKS
    with coast.write(project=P) as tx:
        edits.update(tx, "c0", {"check": {"kind": "length", "most": 9, "unit": "characters"}})
        edits.update(tx, "c1", {"check": None})
        edits.update(tx, "c2", {"text": "Told in third person."})
    assert stored_checks(coast) == [SentenceLength(max_length=9, unit="characters"), None, *CHECKS[2:]]


@pytest.mark.parametrize(
    "check",
    [
        {"kind": "telepathy"},
        {"kind": "banned"},
        {"kind": "banned", "words": [" "]},
        {"kind": "banned", "words": ["x" * 201]},
        {"kind": "length", "most": 0},
        {"kind": "length", "most": 5, "unit": "pages"},
        {"kind": "person", "person": "fourth"},
        {"kind": "unnamed", "names": ["x"], "colour": "red"},
        "banned",
        7,
    ],
)
def test_an_invalid_check_is_refused(coast: Store, check: object) -> None:
    with pytest.raises(FabulaError) as refused, coast.write(project=P) as tx:
        edits.update(tx, "c0", {"check": check})
    assert refused.value.code is Code.CONSTRAINT_VALIDATION_ERROR
    assert stored_checks(coast) == CHECKS


def test_a_lone_surrogate_is_refused_as_in_any_text(coast: Store) -> None:
    with pytest.raises(FabulaError) as refused, coast.write(project=P) as tx:
        edits.update(tx, "c0", {"check": {"kind": "banned", "words": ["half \ud800"]}})
    assert refused.value.code is Code.TEXT_INVALID


def test_an_invalid_check_made_in_python_is_refused(coast: Store) -> None:
    odd = replace(Constraint(id="odd", text="-"), check=SentenceLength(max_length=-1))
    with pytest.raises(FabulaError) as refused, coast.write(project=P) as tx:
        edits.create(tx, odd)
    assert refused.value.code is Code.CONSTRAINT_VALIDATION_ERROR


def test_a_save_carries_checks_and_later_names(coast: Store, tmp_path: Path) -> None:
    save_project(coast, P, tmp_path / "coast.fabula")
    copy = load_save(coast, tmp_path / "coast.fabula").project_id
    assert copy != P
    assert stored_checks(coast, copy) == CHECKS
    with coast.read(project=copy) as reading:
        assert codex.get(reading, "mara").entry == MARA


def as_the_first_tables(engine: Engine) -> None:
    """Put a store's rows back into the tables of the first version, with the columns those have."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    with engine.connect() as connection, begin(connection, writing=True):
        config.attributes["connection"] = connection
        rows = {
            table.name: [dict(row._mapping) for row in connection.execute(text(f"SELECT * FROM {table.name}"))]
            for table in all_tables()
        }
        for table in (*reversed(all_tables()[0].metadata.sorted_tables), text("alembic_version")):
            connection.execute(text(f"DROP TABLE {table}"))
        command.upgrade(config, "0001")
        there = MetaData()
        there.reflect(connection)
        for old in there.sorted_tables:
            for row in rows.get(old.name, ()):
                connection.execute(old.insert().values({name: row[name] for name in row if name in old.c}))


def test_a_store_of_the_first_version_is_upgraded(coast: Store, address: str) -> None:
    with coast.write(project=P) as tx:
        for number in range(len(CHECKS)):
            edits.update(tx, f"c{number}", {"check": None})
    as_the_first_tables(coast.engine)
    coast.close()
    store = Store.open(address)
    with store.engine.connect() as connection:
        assert migrate.find_schema_version(connection) == migrate.LATEST_VERSION
    assert stored_checks(store) == [None] * len(CHECKS)
    with store.write(project=P) as tx:
        edits.update(tx, "c0", {"check": {"kind": "person", "person": "first"}})
        assert codex.get(tx, "mara").entry.progressions[0].aliases == ()
    assert stored_checks(store)[0] == NarrativePerson(person="first")
    store.close()
