"""A save of a book carries what its series shares, and loading never joins a series by itself (man-3, sav-2)."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabula.codex import Codex, Entry, Progression, Relation, edits, knowledge
from fabula.codex.knowledge import KnownFact
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective, Position
from fabula.manuscript import documents, projects, series
from fabula.store.save.checking import verify_save
from fabula.store.store import Store
from fabula.workspace.schemas.saves import LoadChoices
from fabula.workspace.workspace import Workspace
from tests.store.save.rows import FORMAT_3
from tests.store.save.test_hostile import Forgery

MARA = Entry(
    id="mara",
    type="character",
    name="Mara",
    description="Keeps the light.",
    relations=(Relation("will", "sister"),),
    progressions=(Progression("She is old now.", Position("one-1")),),
)
WILL = Entry(id="will", type="character", name="Will", description="A spy.", known_to=frozenset())


@pytest.fixture
def saved(workspace: Workspace, tmp_path: Path) -> Path:
    """A save of a book that adds to the entries of its series."""
    store = workspace.store
    series.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        edits.put_all(tx, (MARA, WILL))
        knowledge.put(tx, KnownFact(fact="codex:entity:will", knower="mara"))
    projects.create(store, "One", project_id="one")
    with store.write(project="one") as tx:
        documents.add(tx, "1", text="Mara and Will came.", document_id="one-1")
        edits.put(tx, Entry(id="mara", type="character", name="Mara", details={"eyes": "grey"}))
    series.add_book(store, "one", "coast")
    file = tmp_path / "one.fabula"
    workspace.project("one").save(file)
    return file


def codex(workspace: Workspace, project: str) -> Codex:
    found = workspace.project(project).view.snapshot(Codex)
    assert found is not None
    return found


def same_codex(left: Codex, right: Codex) -> bool:
    return left.by_id == right.by_id and left.knowledge == right.knowledge


def other_store(tmp_path: Path) -> Workspace:
    return Workspace(Store.open(tmp_path / "elsewhere"))


def test_a_book_saved_from_a_series_keeps_the_shared_codex(workspace: Workspace, saved: Path, tmp_path: Path) -> None:
    report = verify_save(saved)
    assert report.manifest is not None
    assert report.manifest.series is not None
    assert (report.manifest.series.title, report.row_counts["series/codex_entries"]) == ("The Coast", 2)
    with other_store(tmp_path) as other:
        loaded = other.load_save(saved)
        assert loaded.series is not None
        assert (loaded.series.title, loaded.series.is_new, loaded.series.added_entries) == ("The Coast", True, 2)
        assert same_codex(codex(other, loaded.project_id), codex(workspace, "one"))
        assert [one.id for one in other.list_books("The Coast")] == ["one"]
        assert [one.number for one in other.list_books("The Coast")] == [1]


def test_loading_never_joins_a_series_silently(workspace: Workspace, saved: Path) -> None:
    with workspace.store.write(project="coast") as tx:
        edits.update(tx, "mara", {"description": "A later thought."})
    loaded = workspace.load_save(saved, LoadChoices(beside=True))
    assert loaded.series is not None
    assert (loaded.series.is_new, loaded.series.title, loaded.series.similar) == (True, "The Coast (2)", "The Coast")
    assert [one.id for one in workspace.list_books("coast")] == ["one"]
    assert codex(workspace, loaded.project_id).by_id["mara"].description == "Keeps the light."


def test_a_book_joins_the_series_that_is_named(workspace: Workspace, saved: Path) -> None:
    with workspace.store.write(project="coast") as tx:
        edits.remove(tx, "will")
        edits.update(tx, "mara", {"description": "A later thought."})
    loaded = workspace.load_save(saved, LoadChoices(join_series="The Coast", beside=True))
    assert loaded.series is not None
    assert (loaded.series.added_entries, loaded.series.present_entries) == (1, 1)
    assert [one.id for one in workspace.list_books("coast")] == ["one", loaded.project_id]
    shared = codex(workspace, "coast")
    assert shared.by_id["mara"].description == "A later thought."
    assert shared.by_id["will"] == WILL
    assert "codex:entity:will" in shared.knowledge
    for wrong in ("One", "Nothing"):
        before = workspace.projects()
        with pytest.raises(FabulaError):
            workspace.load_save(saved, LoadChoices(join_series=wrong, beside=True))
        assert workspace.projects() == before


def test_a_book_that_is_replaced_stays_in_its_series(workspace: Workspace, saved: Path) -> None:
    with workspace.store.write(project="coast") as tx:
        edits.update(tx, "mara", {"description": "A later thought."})
    loaded = workspace.load_save(saved, LoadChoices(replace="one"))
    assert loaded.series is not None
    assert (loaded.series.id, loaded.series.is_new, loaded.series.has_joined) == ("coast", False, False)
    assert codex(workspace, "one").by_id["mara"].description == "A later thought."
    assert [one.number for one in workspace.list_books("coast")] == [1]


def test_a_series_that_a_save_only_claims_is_not_joined(workspace: Workspace, tmp_path: Path) -> None:
    series.create(workspace.store, "Private", project_id="private")
    forged = Forgery(FORMAT_3)
    forged.line("projects", 0, series_id="private")
    forged.write(tmp_path / "claims.fabula")
    loaded = workspace.load_save(tmp_path / "claims.fabula")
    assert loaded.series is None
    assert any("series" in str(warning) for warning in loaded.warnings)
    assert workspace.list_books("private") == []


def test_a_save_with_half_a_series_is_refused(workspace: Workspace, saved: Path, tmp_path: Path) -> None:
    without_codex, unnamed = Forgery(saved), Forgery(saved)
    without_codex.members = {name: data for name, data in without_codex.members.items() if "series/" not in name}
    del unnamed.manifest["series"]
    for number, forged in enumerate((without_codex, unnamed)):
        forged.write(broken := tmp_path / f"broken-{number}.fabula")
        with pytest.raises(FabulaError) as refused:
            workspace.load_save(broken, LoadChoices(beside=True))
        assert refused.value.code is Code.SAVE_DAMAGED


def test_a_save_is_not_overwritten_silently(workspace: Workspace, saved: Path) -> None:
    before = saved.read_bytes()
    with workspace.store.write(project="coast") as tx:
        edits.put(tx, replace(WILL, description="Changed."))
    with pytest.raises(FabulaError) as refused:
        workspace.project("one").save(saved)
    assert refused.value.code is Code.EXPORT_REFUSED
    assert saved.read_bytes() == before
    workspace.project("one").save(saved, overwrite=True)
    assert saved.read_bytes() != before


@pytest.mark.parametrize("choice", ["own series", "joined", "joined beside book one"])
def test_a_save_of_book_two_carries_what_book_one_added(workspace: Workspace, tmp_path: Path, choice: str) -> None:
    store = workspace.store
    series.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        edits.put_all(tx, (replace(MARA, progressions=()), WILL))
    for book in ("one", "two"):
        projects.create(store, book.title(), project_id=book)
        series.add_book(store, book, "coast")
    with store.write(project="one") as tx:
        documents.add(tx, "1", text="Mara and Will came.", document_id="one-1")
        steps = (
            Progression("She lost the light.", Position("one-1", 3)),
            Progression("She stole the bell.", Position("one-1", 5), known_to=frozenset({"will"})),
        )
        ally = Relation("will", "ally", since=Position("one-1", 4))
        edits.put(tx, Entry(id="mara", type="character", name="Mara", progressions=steps, relations=(ally,)))
        edits.put(tx, Entry(id="will", type="character", name="Will"))
        knowledge.put(tx, KnownFact(fact="codex:entity:will", knower="mara", since=Position("one-1", 2)))
        knowledge.put(tx, KnownFact(fact="codex:entity:mara#2", knower="mara", since=Position("one-1", 6)))
    with store.write(project="two") as tx:
        documents.add(tx, "1", text="Mara and Will came back.", document_id="two-1")
        own = Progression("She is old now.", Position("two-1", 3), known_to=frozenset())
        edits.put(tx, Entry(id="mara", type="character", name="Mara", progressions=(own,)))
        knowledge.put(tx, KnownFact(fact="codex:entity:mara#1", knower="will", since=Position("two-1", 4)))
    before = store.versions(project="two")
    workspace.project("two").save(tmp_path / "two.fabula")
    assert store.versions(project="two") == before, "saving changes nothing"
    with other_store(tmp_path) as other:
        choices = LoadChoices()
        if choice != "own series":
            series.create(other.store, "The Coast", project_id="coast")
            with other.store.write(project="coast") as tx:
                edits.put_all(tx, (replace(MARA, progressions=()), WILL))
            choices = LoadChoices(join_series="The Coast")
        if choice == "joined beside book one":
            workspace.project("one").save(tmp_path / "one.fabula")
            other.load_save(tmp_path / "one.fabula", choices)
        loaded = other.load_save(tmp_path / "two.fabula", choices)
        assert same_codex(codex(other, loaded.project_id), codex(workspace, "two"))
        for perspective in Perspective:
            prompts = []
            for place in (workspace, other):
                project = place.project("two")
                character = "will" if perspective is Perspective.CHARACTER else None
                request = project.request(document_id="two-1", cursor=8, perspective=perspective, character=character)
                prompts.append(project.assemble(request).prompt)
            assert prompts[0] == prompts[1]
            assert "lost the light" in prompts[0]
            assert ("stole the bell" in prompts[0]) == (perspective is not Perspective.READER)
        if choice == "joined beside book one":
            one = codex(other, "one")
            assert [step.text for step in one.by_id["mara"].progressions] == [step.text for step in steps]
