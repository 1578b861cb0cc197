"""Lorebooks: made, edited, limited to chapters, tried on a text and turned into codex entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.workspace.project import ProjectHandle


@pytest.fixture
def harbour(coast: ProjectHandle) -> ProjectHandle:
    """A project with a lorebook of two entries."""
    coast.lorebooks.create("Harbour")
    coast.lorebooks.add_entry("Harbour", {"key": ["keeper"], "content": "The keeper is old.", "comment": "Keeper"})
    coast.lorebooks.add_entry("Harbour", {"constant": True, "content": "It rains.", "comment": "Rain"})
    return coast


def test_an_entry_hidden_from_a_reader_is_left_out_of_a_trial(harbour: ProjectHandle) -> None:
    lorebooks = harbour.lorebooks
    lorebooks.limit_entry("Harbour", 1, since="ch-02")
    trial = lorebooks.try_text("The keeper came.")
    assert {one.title: one.active for one in trial.activations[0].verdicts} == {"Keeper": True, "Rain": True}
    assert trial.hidden == []
    trial = lorebooks.try_text("The keeper came.", place="ch-01")
    assert [one.title for one in trial.activations[0].verdicts] == ["Keeper"]
    assert [one.title for one in trial.hidden] == ["Rain"]
    lorebooks.limit_entry("Harbour", 1, since="start")
    assert lorebooks.try_text("x", place="ch-01").hidden == []


def test_a_changed_book_has_its_new_version(harbour: ProjectHandle) -> None:
    before, contents = harbour.lorebooks.read("Harbour")
    assert [entry.uid for entry in contents.book.entries] == [0, 1]
    after = harbour.lorebooks.use("Harbour", active=False, rules="exact")
    assert (after.active, after.rules, after.version) == (False, "exact", before.version + 1)
    assert harbour.lorebooks.remove_entry("Harbour", 0).version == after.version + 1
    assert [one.entry_count for one in harbour.lorebooks.list_lorebooks()] == [1]


def test_a_book_goes_out_and_comes_in_and_becomes_codex_entries(harbour: ProjectHandle, tmp_path: Path) -> None:
    lorebooks = harbour.lorebooks
    lorebooks.export_file("Harbour", tmp_path / "harbour.json")
    lorebooks.remove("Harbour")
    book, contents = lorebooks.import_file(tmp_path / "harbour.json", rules="fabula")
    assert (book.name, book.rules, len(contents.book.entries)) == ("Harbour", "fabula", 2)
    found, entries, _ = lorebooks.make_codex_entries(book.id)
    assert (found.id, len(entries)) == (book.id, 2)
    assert harbour.codex.find("Keeper").description == "The keeper is old."
    assert [one.book.active for one in lorebooks.list_lorebooks()] == [False]


def test_bad_input_is_refused(harbour: ProjectHandle, read_only_coast: ProjectHandle) -> None:
    lorebooks = harbour.lorebooks
    for call, code in (
        (lambda: lorebooks.read("Harbor"), Code.STORE_NOT_FOUND),
        (lambda: lorebooks.edit_entry("Harbour", 9, {"order": 1}), Code.LOREBOOK_INVALID),
        (lambda: lorebooks.limit_entry("Harbour", 0, since="ch-02@5"), Code.LOREBOOK_INVALID),
        (lambda: lorebooks.create("Other", rules="loose"), Code.REQUEST_INVALID),
        (lambda: read_only_coast.lorebooks.create("Harbour"), Code.PROJECT_READ_ONLY),
    ):
        with pytest.raises(FabulaError) as refusal:
            call()
        assert refusal.value.code is code
    with pytest.raises(FabulaError, match="Did you mean Harbour"):
        lorebooks.remove("Harbor")
    assert len(lorebooks.list_lorebooks()) == 1
