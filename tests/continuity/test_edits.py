"""Stored continuity: what comes back, what counts as absent, what is bounded, and what other parts never see."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabula.context.continuity import Continuity
from fabula.continuity import edits
from fabula.continuity.edits import ContinuityKey
from fabula.continuity.tables import assemblies, continuity, prefixes
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.manuscript import projects
from fabula.store.save import loading, saving
from fabula.store.save.tables import table_formats
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P = "p"
CHAPTER = ContinuityKey(recipe="novel", model="gpt-4o", vantage="reader", document="ch-1")
BRANCH = ContinuityKey(recipe="chat", model="gpt-4o", vantage="reader", branch="talk/main")
VALUE = Continuity(
    prefix_hash="abc", document="ch-1", retrieved=("codex:entity:mara", "synopsis:ch-0"), history_start="m1"
)


@pytest.fixture
def project(store: Store) -> Store:
    projects.create(store, "Continued", project_id=P)
    return store


def load(store: Store, key: ContinuityKey = CHAPTER) -> Continuity | None:
    with store.read(project=P) as reading:
        return edits.load(reading, key)


def commit(store: Store, key: ContinuityKey = CHAPTER, value: Continuity = VALUE) -> None:
    with store.write(project=P) as tx:
        edits.commit(tx, key, value)


def save_prefix(tx: WriteTransaction, key: ContinuityKey, skill: str, prefix_hash: str) -> None:
    edits.save_prefixes(tx, [(key, skill, Continuity(prefix_hash=prefix_hash))])


def record_assembly(tx: WriteTransaction, key: ContinuityKey, skill: str, value: Continuity) -> str:
    """Record an assembly as the workspace does; return its id."""
    assembly_id = new_id()
    edits.save_prefixes(tx, [(key, skill, value)])
    edits.record_assemblies(tx, {assembly_id: (key, skill, value)})
    return assembly_id


def damage(store: Store, **values: Any) -> None:
    with store.write(project=P) as tx:
        tx.update_rows(continuity, values)


def test_nothing_is_there_at_first(project: Store) -> None:
    assert load(project) is None
    with project.read(project=P) as reading:
        assert edits.load_prefix(reading, CHAPTER, "write") == ""


def test_a_continuity_comes_back_as_it_was_committed(project: Store) -> None:
    full = Continuity(
        prefix_hash="abc",
        window_start=120,
        retrieved=("一", "two"),
        late=("three",),
        source_state={"lorebook": b"\x00\xff"},
    )
    commit(project, value=full)
    assert load(project) == full
    commit(project, value=VALUE)
    assert load(project) == VALUE


@pytest.mark.parametrize("field", ["recipe", "model", "vantage"])
def test_another_recipe_model_or_vantage_has_its_own(project: Store, field: str) -> None:
    commit(project)
    assert load(project, replace(CHAPTER, **{field: "other"})) is None


def test_a_chapter_that_is_opened_for_the_first_time_continues_from_the_last_one(project: Store) -> None:
    commit(project)
    latest = replace(VALUE, prefix_hash="def")
    commit(project, replace(CHAPTER, document="ch-2"), latest)
    assert load(project, replace(CHAPTER, document="ch-3")) == latest
    assert load(project) == VALUE


def test_a_branch_continues_from_no_other_branch_and_from_no_document(project: Store) -> None:
    commit(project, BRANCH)
    commit(project, replace(CHAPTER, recipe="chat"))
    assert load(project, BRANCH) == VALUE
    assert load(project, replace(BRANCH, branch="talk/other")) is None
    other = replace(CHAPTER, recipe="chat", document="ch-9")
    assert load(project, other) == VALUE, "a document continues from a document"
    with project.write(project=P) as tx:
        tx.delete_rows(continuity, continuity.c.key != BRANCH.row_key)
    assert load(project, other) is None, "and not from a branch"


def test_projects_do_not_share_continuity(project: Store) -> None:
    commit(project)
    projects.create(project, "Another", project_id="q")
    with project.read(project="q") as reading:
        assert edits.load(reading, CHAPTER) is None


def test_the_prefix_hash_is_kept_by_skill_and_not_by_document(project: Store) -> None:
    with project.write(project=P) as tx:
        save_prefix(tx, CHAPTER, "write", "one")
        save_prefix(tx, CHAPTER, "write", "two")
        save_prefix(tx, CHAPTER, "judge", "three")
    with project.read(project=P) as reading:
        assert edits.load_prefix(reading, replace(CHAPTER, document="ch-2"), "write") == "two"
        assert edits.load_prefix(reading, CHAPTER, "judge") == "three"
        assert edits.load_prefix(reading, replace(CHAPTER, model="other"), "write") == ""
        assert reading.count(prefixes) == 2


def test_an_assembly_saves_its_prefix_at_once_and_its_continuity_when_it_is_committed(project: Store) -> None:
    with project.write(project=P) as tx:
        assembly_id = record_assembly(tx, CHAPTER, "write", VALUE)
    assert load(project) is None
    with project.read(project=P) as reading:
        assert edits.load_prefix(reading, CHAPTER, "write") == VALUE.prefix_hash
    with project.write(project=P) as tx:
        edits.commit_assembly(tx, assembly_id)
    assert load(project) == VALUE
    with project.read(project=P) as reading:
        assert reading.count(assemblies) == 0


@pytest.mark.parametrize("assembly_id", ["", "never-was", "x" * 500])
def test_an_unknown_assembly_is_refused(project: Store, assembly_id: str) -> None:
    with pytest.raises(FabulaError) as refused, project.write(project=P) as tx:
        edits.commit_assembly(tx, assembly_id)
    assert refused.value.code is Code.ASSEMBLY_UNKNOWN
    assert "Nothing was changed" in refused.value.sentence


def test_an_assembly_is_committed_once_and_only_in_its_own_project(project: Store) -> None:
    projects.create(project, "Another", project_id="q")
    with project.write(project=P) as tx:
        assembly_id = record_assembly(tx, CHAPTER, "write", VALUE)
    with pytest.raises(FabulaError) as foreign, project.write(project="q") as tx:
        edits.commit_assembly(tx, assembly_id)
    with project.write(project=P) as tx:
        edits.commit_assembly(tx, assembly_id)
    with pytest.raises(FabulaError) as second, project.write(project=P) as tx:
        edits.commit_assembly(tx, assembly_id)
    assert foreign.value.code is second.value.code is Code.ASSEMBLY_UNKNOWN
    assert load(project) == VALUE


@pytest.mark.parametrize(
    "value",
    ["", "{", "null", "[]", '"secret words"', '{"prefix_hash": 7}', '{"retrieved": "secret words"}', "[" * 9_000],
)
def test_a_damaged_row_counts_as_absent_and_is_logged_without_its_text(
    project: Store, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    commit(project)
    damage(project, value=value)
    with caplog.at_level(logging.DEBUG):
        assert load(project) is None
    assert "cannot be decoded" in caplog.text
    assert "secret" not in caplog.text
    commit(project)
    assert load(project) == VALUE, "the next commit replaces it"


@pytest.mark.parametrize("version", [0, edits.FORMAT + 1])
def test_a_row_of_another_format_counts_as_absent(project: Store, version: int) -> None:
    commit(project)
    damage(project, format=version)
    assert load(project) is None
    assert load(project, replace(CHAPTER, document="ch-2")) is None


def test_a_damaged_row_falls_back_to_the_last_document(project: Store) -> None:
    commit(project)
    damage(project, value="{")
    latest = replace(VALUE, prefix_hash="def")
    commit(project, replace(CHAPTER, document="ch-2"), latest)
    assert load(project) == latest


def test_an_assembly_of_another_format_is_committed_and_counts_as_absent(project: Store) -> None:
    with project.write(project=P) as tx:
        assembly_id = record_assembly(tx, CHAPTER, "write", VALUE)
        tx.update_rows(assemblies, {"format": edits.FORMAT + 1, "value": "of tomorrow"})
    with project.write(project=P) as tx:
        edits.commit_assembly(tx, assembly_id)
    assert load(project) is None


def test_what_a_transaction_loads_a_statement_by_itself_loads_too(project: Store) -> None:
    commit(project)
    with project.write(project=P) as tx:
        save_prefix(tx, CHAPTER, "write", "one")
    reading = project.read_statements(project=P)
    assert edits.load(reading, CHAPTER) == VALUE
    assert edits.load(reading, replace(CHAPTER, document="new")) == VALUE
    assert edits.load(reading, replace(CHAPTER, model="other")) is None
    assert edits.load_prefix(reading, CHAPTER, "write") == "one"
    assert edits.load(project.read_statements(project="another"), CHAPTER) is None


def test_of_many_assemblies_at_once_the_newest_are_kept(project: Store) -> None:
    made = {f"a{number}": (CHAPTER, "write", VALUE) for number in range(edits.MAX_ASSEMBLIES + 50)}
    with project.write(project=P) as tx:
        edits.record_assemblies(tx, made)
        edits.record_assemblies(tx, {"last": (CHAPTER, "write", VALUE)})
        kept = {row.id for row in tx.rows(assemblies, only=("id",))}
    assert kept == {"last", *list(made)[51:]}


def test_the_rows_of_a_project_are_bounded_and_the_oldest_go(project: Store) -> None:
    with project.write(project=P) as tx:
        for number in range(edits.MAX_PREFIXES + 20):
            save_prefix(tx, CHAPTER, f"skill {number}", "hash")
            edits.commit(tx, replace(CHAPTER, document=f"ch-{number}"), VALUE)
            edits.commit(tx, replace(CHAPTER, document="ch-0"), VALUE)
        waiting = [record_assembly(tx, CHAPTER, "write", VALUE) for _ in range(edits.MAX_ASSEMBLIES + 1)]
    with project.read(project=P) as reading:
        assert reading.count(continuity) == edits.MAX_CONTINUITIES
        assert reading.count(prefixes) == edits.MAX_PREFIXES
        assert reading.count(assemblies) == edits.MAX_ASSEMBLIES
        assert edits.load_prefix(reading, CHAPTER, "skill 0") == ""
        for number, expected in ((0, 1), (1, 0), (edits.MAX_PREFIXES + 19, 1)):
            key = replace(CHAPTER, document=f"ch-{number}").row_key
            assert reading.count(continuity, continuity.c.key == key) == expected, number
    with project.write(project=P) as tx:
        edits.commit_assembly(tx, waiting[-1])
    with pytest.raises(FabulaError) as refused, project.write(project=P) as tx:
        edits.commit_assembly(tx, waiting[0])
    assert refused.value.code is Code.ASSEMBLY_UNKNOWN


def test_what_was_just_written_stays_even_where_a_clock_was_set_back(project: Store) -> None:
    with project.write(project=P) as tx:
        for number in range(edits.MAX_CONTINUITIES):
            edits.commit(tx, replace(CHAPTER, document=f"ch-{number}"), VALUE)
        tx.update_rows(continuity, {"used_at": "9999-01-01T00:00:00.000000Z"})
        latest = replace(VALUE, prefix_hash="latest")
        edits.commit(tx, replace(CHAPTER, document="new"), latest)
        assert edits.load(tx, replace(CHAPTER, document="new")) == latest
        assert tx.count(continuity) == edits.MAX_CONTINUITIES


def test_continuity_neither_moves_the_version_nor_appears_in_the_feed(project: Store) -> None:
    before = project.versions(project=P)
    with project.write(project=P) as tx:
        edits.commit(tx, CHAPTER, VALUE)
        edits.commit_assembly(tx, record_assembly(tx, CHAPTER, "write", VALUE))
        edits.clear(tx)
    assert project.versions(project=P) == before
    with project.read(project=P) as reading:
        assert reading.changes("project", before[0]) == []


def test_continuity_is_no_part_of_a_save(project: Store, tmp_path: Path) -> None:
    plain, full = tmp_path / "plain.fabula", tmp_path / "full.fabula"
    saving.save_project(project, P, plain, created_at="now")
    with project.write(project=P) as tx:
        edits.commit(tx, CHAPTER, VALUE)
        record_assembly(tx, CHAPTER, "write", VALUE)
    saving.save_project(project, P, full, created_at="now")
    assert full.read_bytes() == plain.read_bytes()
    assert not {shape.table for shape in table_formats()} & {continuity, prefixes, assemblies}
    loading.load_save(project, full, project_id=P, replace=True)
    assert load(project) is None, "a project that was replaced starts anew"


def test_clear_forgets_one_project_only(project: Store) -> None:
    projects.create(project, "Another", project_id="q")
    with project.write(project="q") as tx:
        edits.commit(tx, CHAPTER, VALUE)
    commit(project)
    with project.write(project=P) as tx:
        record_assembly(tx, CHAPTER, "write", VALUE)
        edits.clear(tx)
        assert [tx.count(table) for table in (continuity, prefixes, assemblies)] == [0, 0, 0]
    with project.read(project="q") as reading:
        assert edits.load(reading, CHAPTER) == VALUE


def test_the_rows_go_with_their_project(project: Store) -> None:
    with project.write(project=P) as tx:
        edits.commit(tx, CHAPTER, VALUE)
        record_assembly(tx, CHAPTER, "write", VALUE)
    projects.remove(project, P)
    with project.read(project=P) as reading:
        assert [reading.count(table) for table in (continuity, prefixes, assemblies)] == [0, 0, 0]


def test_a_text_that_cannot_be_stored_is_refused_with_a_code(project: Store) -> None:
    with pytest.raises(FabulaError) as refused:
        commit(project, value=Continuity(retrieved=("half a pair \ud800",)))
    assert refused.value.code is Code.TEXT_INVALID
    assert load(project) is None


def test_two_processes_record_and_commit_at_once_and_a_third_goes_on_from_there(project: Store, address: str) -> None:
    command = [sys.executable, "-m", "tests.continuity.worker", address, P]
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen([*command, name], cwd=root, stdout=subprocess.PIPE, text=True) for name in ("one", "two")
    ]
    outputs = [process.communicate(timeout=120)[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    found = load(project)
    assert found is not None
    assert found.prefix_hash in ("one-29", "two-29")
    with project.read(project=P) as reading:
        assert edits.load_prefix(reading, CHAPTER, "one") == "one-29"
        assert edits.load_prefix(reading, CHAPTER, "two") == "two-29"
        assert reading.count(assemblies) == 0


def test_a_speaker_finds_what_the_last_speaker_of_the_nearest_branch_left(project: Store) -> None:
    bo = replace(BRANCH, vantage="bo", is_speaker=True)
    cleo, later = replace(bo, vantage="cleo"), replace(bo, branch="talk/later")
    commit(project, bo, replace(VALUE, history_start="m2"))
    commit(project, cleo, replace(VALUE, history_start="m3"))
    commit(project, BRANCH, replace(VALUE, history_start="m4"))  # nobody speaks
    with project.read(project=P) as reading:
        assert edits.load_shared(reading, later, knowers=frozenset()) is None
        found = edits.load_shared(reading, later, replace(bo, vantage="dov"), knowers=frozenset({"dov"}))
    assert found is not None
    assert found.history_start == "m3"


def test_of_all_that_earlier_requests_of_a_branch_left_only_what_is_used_is_read(
    project: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    bo = replace(BRANCH, vantage="bo", is_speaker=True)
    places = [replace(bo, branch=f"talk/{number}") for number in range(20)]
    for number, place in enumerate(places):
        commit(project, place, replace(VALUE, history_start=f"m{number}"))
    decoded: list[str] = []
    plain = edits._decode

    def decode(key: str, version: int, value: str) -> Continuity | None:
        decoded.append(key)
        return plain(key, version, value)

    monkeypatch.setattr(edits, "_decode", decode)
    reading = project.read_statements(project=P)
    own = edits.load(reading, replace(bo, branch="talk/new"), *reversed(places))
    shared = edits.load_shared(reading, *reversed(places), knowers=frozenset({"dov"}))
    assert own == shared == replace(VALUE, history_start="m19")
    assert decoded == [places[-1].row_key] * 2


def test_a_speaker_passes_over_a_selection_that_followed_from_a_whisper_to_others(project: Store) -> None:
    bo = replace(BRANCH, vantage="bo", is_speaker=True)
    later = replace(bo, branch="talk/later")
    commit(project, bo, replace(VALUE, history_start="m2"))
    commit(project, later, replace(VALUE, history_start="m3", known_to=("cleo",)))
    found = {}
    with project.read(project=P) as reading:
        for name in ("cleo", "dov"):
            found[name] = edits.load_shared(reading, later, bo, knowers=frozenset({name}))
    assert [one.history_start for one in found.values() if one is not None] == ["m3", "m2"]


def test_the_format_changes_with_the_fields() -> None:
    """When this fails, raise `FORMAT`: rows of the old fields must not be taken for rows of the new ones."""
    assert (edits.FORMAT, Continuity.__struct_fields__) == (
        6,
        (
            "prefix_hash",
            "document",
            "window_start",
            "window_checksum",
            "window_budget",
            "history_start",
            "retrieved",
            "placed",
            "retrieved_tokens",
            "selection_count",
            "late",
            "late_after",
            "late_tokens_spent",
            "resend_tokens",
            "unused_requests",
            "included_at",
            "rules_left_out",
            "source_state",
            "known_to",
            "held_known_to",
            "followed_documents",
        ),
    )
