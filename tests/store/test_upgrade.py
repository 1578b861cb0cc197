"""Opening and upgrading a store: new, of an earlier version, of a newer version, damaged; and what its tables are."""

from __future__ import annotations

import importlib
import json
import pkgutil
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect, make_url, text

import fabula
from fabula.access.edits import MAX_FAILURES, find_wait, list_sessions
from fabula.access.passwords import hash_secret
from fabula.conversation import edits
from fabula.conversation.presence import load_attendance
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.responses.keys import claim_key
from fabula.store import upgrade
from fabula.store.backup import list_backups
from fabula.store.connections import DATABASE_FILE, begin, is_server_url, make_postgres_engine, make_sqlite_engine
from fabula.store.schema import METADATA, table_info
from fabula.store.store import Store
from fabula.store.tables import LOCAL_USER, undo_steps
from fabula.store.upgrade import LATEST_VERSION, find_schema_version
from tests.store.workers import CROWD, run_program

INTERNAL = {"heads", "changes"}  # the store's own tables, which belong to no project and no user
_numbers = count(1)

for _module in pkgutil.walk_packages(fabula.__path__, "fabula."):
    if _module.name.endswith(".tables"):
        importlib.import_module(_module.name)


@pytest.fixture
def empty(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """Addresses at which there is no store yet."""
    if engine == "sqlite":
        yield [str(tmp_path / str(number)) for number in range(12)]
        return
    server = make_url(request.getfixturevalue("server")).set(drivername="postgresql+psycopg")
    names = [f"empty_{next(_numbers)}" for _ in range(3)]
    with_server = create_engine(server, isolation_level="AUTOCOMMIT")
    with with_server.connect() as connection:
        for name in names:
            connection.execute(text(f"CREATE DATABASE {name}"))
        yield [server.set(drivername="postgresql", database=name).render_as_string(False) for name in names]
        for name in names:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    with_server.dispose()


@pytest.fixture
def before_workspace(tmp_path: Path) -> Path:
    """A copy of the store that the commit before the workspace wrote, with both samples in it."""
    folder = tmp_path / "before"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "fixtures" / "before_workspace" / DATABASE_FILE, folder)
    return folder


def test_several_processes_open_a_new_store_at_once_and_all_succeed(empty: list[str]) -> None:
    assert run_program("open_at_once", *empty) == ["opened"] * CROWD * len(empty)
    for address in empty:
        store = Store.open(address)
        assert _version(store) == LATEST_VERSION
        projects.create(store, "Works")
        store.close()


def test_a_new_store_is_made_where_an_empty_file_stands(tmp_path: Path) -> None:
    file = tmp_path / "mine.db"
    file.touch()
    store = Store.open(file)
    assert _version(store) == LATEST_VERSION
    store.close()


def test_a_store_without_a_version_gets_its_tables(empty: list[str]) -> None:
    store = Store.open(empty[0])
    with store.engine.begin() as connection:
        METADATA.drop_all(connection)
        connection.execute(text("DELETE FROM alembic_version"))
    store.close()
    store = Store.open(empty[0])
    projects.create(store, "Works")
    assert _version(store) == LATEST_VERSION
    store.close()


def test_a_store_of_a_newer_program_is_refused_and_left_alone(address: str, store: Store) -> None:
    projects.create(store, "Of tomorrow", project_id="p")
    _set_version(store, "9999")
    kept = list_backups(store.file) if store.file is not None else []
    for _ in range(3):
        with pytest.raises(FabulaError) as refused:
            Store.open(address)
        assert refused.value.code is Code.STORE_TOO_NEW
        assert "9999" in refused.value.sentence
    assert store.project_ids() == ["p"]
    assert _version(store) == "9999"
    if store.file is not None:
        assert list_backups(store.file) == kept, "a refusal must not push good copies out"


def test_a_version_that_never_was_is_refused_in_words(address: str, store: Store) -> None:
    projects.create(store, "Odd", project_id="p")
    _set_version(store, "0000")
    with pytest.raises(FabulaError) as refused:
        Store.open(address)
    assert refused.value.code is Code.STORE_DAMAGED
    assert store.project_ids() == ["p"]


@pytest.mark.parametrize("statement", ["DELETE FROM alembic_version", "INSERT INTO alembic_version VALUES ('0001')"])
def test_no_version_or_two_versions_are_refused_in_words(address: str, store: Store, statement: str) -> None:
    projects.create(store, "Odd", project_id="p")
    with store.engine.begin() as connection:
        connection.execute(text(statement))
    with pytest.raises(FabulaError) as refused:
        Store.open(address)
    assert refused.value.code is Code.STORE_DAMAGED
    assert store.project_ids() == ["p"]


def test_before_a_store_is_upgraded_a_copy_is_made_of_it(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    _set_version(store, "0000")
    store.close()
    with pytest.raises(FabulaError):
        Store.open(tmp_path)
    assert [copy.stem.rsplit("-", 2)[-2:] for copy in list_backups(tmp_path / DATABASE_FILE)][-1] == [
        "before",
        "upgrade",
    ]


def test_a_store_of_before_the_workspace_is_upgraded_and_keeps_every_row(before_workspace: Path) -> None:
    file = before_workspace / DATABASE_FILE
    before = _contents(file)
    store = Store.open(before_workspace)
    assert _version(store) == LATEST_VERSION
    assert store.project_ids() == ["lantern_coast", "wugang"]
    _assert_tables_match(store)
    store.close()
    after = _contents(file)
    kept_for_a_while = {"continuity", "prefixes", "assemblies", "request_keys", "streams", "stream_events"}
    access = {"people", "api_keys", "sessions", "sign_in_failures"}
    by_model = {"codex_quotations", "codex_removed", "needs", "personas"}
    assert after.keys() - before.keys() == {"undo_steps", "user_undo_steps", *kept_for_a_while, *access, *by_model}
    assert _without_settings(after, before) == _without_settings(before, before)
    copies = [copy for copy in list_backups(file) if copy.stem.endswith("before-upgrade")]
    assert [_contents(copy) for copy in copies] == [before], "the copy is what was there before"


def test_a_store_of_each_earlier_version_is_upgraded(empty: list[str]) -> None:
    for address, version in zip(empty, ("0001", "0003", "0005"), strict=False):
        _make_store(address, version)
        store = Store.open(address)
        assert _version(store) == LATEST_VERSION
        _assert_tables_match(store)
        projects.create(store, "Works")
        store.close()


def test_wrong_passwords_move_into_a_table_of_their_own_and_cut_off_requests_stay_taken(empty: list[str]) -> None:
    address = empty[0]
    _make_store(address, "0021")
    insert = "INSERT INTO sessions (user_id, id, person, made, until) VALUES ('owner', :id, :person, '2026', :until)"
    later, counted = "2999-01-01T00:00:00.000000Z", f"failure:{hash_secret('ann')}"
    failures = [{"id": f"failure:{one}", "person": counted, "until": later} for one in range(MAX_FAILURES)]
    kept = "INSERT INTO request_keys (user_id, key, fingerprint, made_at) VALUES ('owner', 'k', 'f', '2999')"
    engine = _make_engine(address)
    with engine.begin() as connection:
        connection.execute(text(insert), [{"id": "a-session", "person": "ann", "until": later}, *failures])
        connection.execute(text(kept))
    engine.dispose()
    store = Store.open(address)
    with store.write(user=LOCAL_USER) as tx:
        assert find_wait(tx, "ann") > 0
        assert [one.person for one in list_sessions(tx)] == ["ann"]
        with pytest.raises(FabulaError) as refused:
            claim_key(tx, "k", "f")
    assert refused.value.code is Code.HTTP_KEY_CUT_OFF
    store.close()


def test_an_upgrade_keeps_who_heard_what_and_who_is_present(empty: list[str]) -> None:
    _make_store(empty[0], "0023")
    engine = _make_engine(empty[0])
    ranges: dict[
        str, list[tuple[int, int | None]]
    ] = {  # of a conversation that goes on behind its second message, though four more were said
        "pawn:stayed": [(0, None)],
        "left": [(0, 2)],
        "came": [(3, None)],
        "came back": [(0, 1), (4, None)],
        "at once": [(0, 2), (2, None)],  # left and came, with nothing said between
        "gone": [(0, 2), (2, 2)],
    }
    step = json.dumps([{"table": "presence", "key": ["talk", "came", 3], "old": None, "new_hash": "x"}])
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO projects (project_id) VALUES ('p')"))
        talk = "INSERT INTO conversations (project_id, id, said, leaf_id) VALUES ('p', :id, :said, :leaf)"
        connection.execute(
            text(talk), [{"id": "talk", "said": 6, "leaf": "m1"}, {"id": "line", "said": 6, "leaf": "n5"}]
        )
        said = "INSERT INTO messages (project_id, id, conversation_id, number) VALUES ('p', :id, :talk, :number)"
        names = (("talk", "m"), ("line", "n"))
        connection.execute(
            text(said), [{"id": f"{name}{n}", "talk": talk, "number": n} for talk, name in names for n in range(6)]
        )
        present = (
            "INSERT INTO presence (project_id, conversation_id, participant_id, since_number, until_number) "
            "VALUES ('p', :talk, :who, :since, :until)"
        )
        connection.execute(
            text(present),
            [
                {"talk": talk, "who": who, "since": since, "until": until}
                for talk, _ in names
                for who, own in ranges.items()
                for since, until in own
            ],
        )
        undo = "INSERT INTO undo_steps (project_id, number, rows) VALUES ('p', :n, :rows)"
        connection.execute(text(undo), [{"n": n, "rows": step if n == 2 else "[]"} for n in (1, 2, 3)])
    engine.dispose()
    store = Store.open(empty[0])
    _assert_tables_match(store)
    heard = [{one for one, own in ranges.items() if _is_in(own, number)} for number in range(6)]
    now = {"pawn:stayed", "came", "came back", "at once"}
    with store.read(project="p") as reading:
        for talk in ("talk", "line"):
            found = load_attendance(reading, talk)
            assert [found.list_present_at(number) for number in range(6)] == heard
            assert found.present == now
        assert load_attendance(reading, "talk").go_to(0).present == heard[0]
        assert [row.number for row in reading.rows(undo_steps)] == [3], "older steps name rows that are no more"
    with store.write(project="p") as tx:
        edits.leave_conversation(tx, "talk", "pawn:stayed")
        edits.select_branch(tx, "talk", "m5")
        assert "pawn:stayed" in load_attendance(tx, "talk").present
    store.close()


def _is_in(ranges: list[tuple[int, int | None]], number: int) -> bool:
    return any(since <= number and (until is None or number < until) for since, until in ranges)


def test_several_processes_upgrade_a_store_at_once_and_all_succeed(empty: list[str]) -> None:
    addresses = empty[:3]
    for address in addresses:
        _make_store(address, "0005")
    assert run_program("open_at_once", *addresses) == ["opened"] * CROWD * len(addresses)
    for address in addresses:
        store = Store.open(address)
        assert _version(store) == LATEST_VERSION
        _assert_tables_match(store)
        projects.create(store, "Works")
        store.close()


def test_several_processes_upgrade_a_store_that_holds_projects_and_lose_nothing(before_workspace: Path) -> None:
    before = _contents(before_workspace / DATABASE_FILE)
    assert run_program("open_at_once", str(before_workspace)) == ["opened"] * CROWD
    after = _contents(before_workspace / DATABASE_FILE)
    assert _without_settings(after, before) == _without_settings(before, before)


def test_the_change_feed_of_an_older_store_goes_on_after_its_upgrade(empty: list[str]) -> None:
    _make_store(empty[0], "0020")
    store = Store.open(empty[0], inspect_only=True)
    with store.engine.begin() as connection:
        connection.execute(text("INSERT INTO projects (project_id) VALUES ('p')"))
        connection.execute(text("INSERT INTO heads (owner, version) VALUES ('project:p', 2), ('user:owner', 0)"))
        query = text(
            "INSERT INTO changes (owner, version, room, item, at) VALUES ('project:p', :n, 'codex', :item, :at)"
        )
        connection.execute(query, [{"n": n, "item": f"e{n}", "at": f"2026-01-0{n}T00:00:00Z"} for n in (1, 2)])
    store.close()
    store = Store.open(empty[0])
    assert store.last_changes() == {"p": "2026-01-02T00:00:00Z"}
    with store.write(project="p") as tx:
        tx.insert(rows, {"id": "d"})
    with store.read(project="p") as reading:
        found = reading.changes("project", 0)
        assert found is not None
        assert [(one.version, one.area, one.item) for one in found] == [
            (1, "codex", "e1"),
            (2, "codex", "e2"),
            (3, "manuscript", "d"),
        ]
    store.close()


def test_projects_of_an_older_store_get_slugs_in_the_order_of_their_numbers(empty: list[str]) -> None:
    _make_store(empty[0], "0027")
    store = Store.open(empty[0], inspect_only=True)
    titles = {"c": "The Sea", "a": "The Sea!", "b": "…", "d": "The Sea 2"}
    with store.engine.begin() as connection:
        for number, (ident, title) in enumerate(titles.items(), start=1):
            values = {"id": ident, "title": title, "number": number}
            connection.execute(text("INSERT INTO projects (project_id, title) VALUES (:id, :title)"), values)
            head = "INSERT INTO heads (owner, version, number) VALUES ('project:' || :id, 1, :number)"
            connection.execute(text(head), values)
    store.close()
    store = Store.open(empty[0])
    slugs = {one.id: one.slug for one in projects.list_projects(store)}
    assert slugs == {"c": "the-sea", "a": "the-sea-2", "b": "project", "d": "the-sea-2-2"}
    projects.create(store, "The Sea", project_id="e")
    assert projects.find_by_slug(store, "the-sea-3") == "e"
    store.close()


def test_an_upgrade_removes_fields_of_presets_that_are_refused_now(empty: list[str]) -> None:
    _make_store(empty[0], "0005")
    store = Store.open(empty[0], inspect_only=True)
    nodes = json.dumps([{"type": "message", "colour": "red", "injectionStrategy": {"depth": 1, "height": 2}}])
    with store.engine.begin() as connection:
        connection.execute(text("INSERT INTO projects (project_id) VALUES ('p')"))
        query = text("INSERT INTO presets (project_id, id, name, nodes) VALUES ('p', :id, 'Mine', :nodes)")
        connection.execute(query, [{"id": "mine", "nodes": nodes}, {"id": "broken", "nodes": "{"}])
    store.close()
    store = Store.open(empty[0])
    with store.engine.begin() as connection:
        found = {row.id: row.nodes for row in connection.execute(text("SELECT id, nodes FROM presets"))}
    assert json.loads(found["mine"]) == [{"type": "message", "injectionStrategy": {"depth": 1}}]
    assert found["broken"] == "{"
    store.close()


def test_an_upgrade_that_fails_in_the_middle_changes_nothing(empty: list[str]) -> None:
    _make_store(empty[0], "0005")
    store = Store.open(empty[0], inspect_only=True)
    with store.engine.begin() as connection:
        connection.execute(text("CREATE TABLE prefixes (mine INTEGER)"))  # in the way of the second of three tables
    with pytest.raises(FabulaError) as refused:
        Store.open(empty[0])
    assert "Nothing was changed" in refused.value.sentence
    assert _version(store) == "0005"
    with store.engine.begin() as connection:
        assert "continuity" not in inspect(connection).get_table_names()
        connection.execute(text("DROP TABLE prefixes"))
    store.close()
    Store.open(empty[0]).close()


@pytest.mark.parametrize(
    "content", [b"Dear diary, this is no database.\n" * 50, b"\x00" * 5_000, b"SQLite format 3\x00"]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "diary.db"
    file.write_bytes(content)
    with pytest.raises(FabulaError) as refused:
        Store.open(file)
    assert refused.value.code is Code.STORE_DAMAGED
    assert "backup" in refused.value.sentence
    assert file.read_bytes() == content


@pytest.mark.parametrize("left", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_store_is_never_taken_for_a_whole_one(tmp_path: Path, left: float) -> None:
    store = Store.open(tmp_path)
    projects.create(store, "Cut short", project_id="p")
    with store.write(project="p") as tx:
        for number in range(20):
            documents.add(tx, str(number), text="word " * 5_000)
    store.close()
    file = tmp_path / DATABASE_FILE
    with file.open("r+b") as written:
        written.truncate(int(file.stat().st_size * left))
    with pytest.raises(FabulaError) as refused:
        _read_all(tmp_path)
    assert refused.value.code is Code.STORE_DAMAGED


def test_another_programs_database_is_left_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE documents (name TEXT)")
    other.execute("INSERT INTO documents VALUES ('theirs')")
    other.commit()
    with pytest.raises(FabulaError):
        Store.open(file)
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("documents",)]
    assert other.execute("SELECT * FROM documents").fetchall() == [("theirs",)]
    other.close()


def test_the_migrated_tables_are_those_that_the_packages_declare(store: Store) -> None:
    _assert_tables_match(store)


def test_every_table_says_whose_rows_it_holds_and_its_key_begins_with_the_owner() -> None:
    assert len(METADATA.tables) > 20
    for table in METADATA.tables.values():
        if table.name in INTERNAL:
            continue
        known = table_info(table)
        assert next(iter(table.primary_key)).name == known.owner_column, table.name
        assert known.item is None or known.item in table.c, table.name
        if known.owner == "project" and table.name != "projects":
            parents = [key for key in table.foreign_key_constraints if key.referred_table.name == "projects"]
            assert [key.ondelete for key in parents] == ["CASCADE"], table.name


def test_keys_between_tables_stay_within_a_project() -> None:
    for table in METADATA.tables.values():
        for key in table.foreign_key_constraints:
            assert key.column_keys[0] == "project_id", f"{table.name}: {key.name}"
            assert key.elements[0].column.name == "project_id", f"{table.name}: {key.name}"


def test_every_mark_in_the_story_is_a_document_and_an_offset() -> None:
    for table in METADATA.tables.values():
        for column in table.columns:
            if column.name.endswith("_offset"):
                assert column.name.replace("_offset", "_document") in table.c, table.name


def _make_store(address: str, version: str) -> None:
    """Make a store whose tables are of an earlier version."""
    engine = _make_engine(address)
    config = Config()
    config.set_main_option("script_location", str(Path(upgrade.__file__).parent / "migrations"))
    with engine.connect() as connection, begin(connection, writing=True):
        config.attributes["connection"] = connection
        command.upgrade(config, version)
    engine.dispose()


def _make_engine(address: str) -> Engine:
    return (
        make_postgres_engine(address) if is_server_url(address) else make_sqlite_engine(Path(address) / DATABASE_FILE)
    )


def _contents(file: Path) -> dict[str, list[Any]]:
    """Every row of every table of a SQLite file, but for the version of the tables."""
    with closing(sqlite3.connect(file)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
            for name in names
            if name != "alembic_version"
        }


def _without_settings(found: dict[str, list[Any]], before: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The tables that were there before, but for settings, which were renamed (`tests/settings/test_migration.py`)."""
    kept = {name: rows for name, rows in found.items() if name in before and not name.endswith("settings")}
    columns = {name: len(rows[0]) for name, rows in before.items() if rows}  # an upgrade may add columns at the end
    return {name: [row[: columns.get(name)] for row in rows] for name, rows in kept.items()}


def _assert_tables_match(store: Store) -> None:
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": _default_differs})
        assert compare_metadata(context, METADATA) == []


def _default_differs(
    context: MigrationContext, _there: Any, _declared: Any, there: str | None, _default: Any, declared: str | None
) -> bool | None:
    """Alembic compares defaults well on PostgreSQL (None leaves it to that), and takes '' for none on SQLite."""
    if context.dialect.name == "postgresql":
        return None
    return (None if there is None else there.strip("()'")) != declared


def _version(store: Store) -> str | None:
    with store.engine.connect() as connection:
        return find_schema_version(connection)


def _set_version(store: Store, version: str) -> None:
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})


def _read_all(folder: Path) -> None:
    store = Store.open(folder)
    try:
        with store.read(project="p") as reading:
            found = reading.rows(rows)
            if len(found) == 20 and all(len(row.text) == 25_000 for row in found):
                raise AssertionError("a part of the file is gone and nobody noticed")
    finally:
        store.close()
