"""The books of a series share its codex and extend it (man-3)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.codex import Codex, Entry, Level, Progression, Relation, edits, knowledge
from fabula.codex.knowledge import KnownFact
from fabula.codex.series import merge_codexes, merge_entry
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.core.view import View
from fabula.manuscript import documents, projects, series
from fabula.settings.edits import set_value
from fabula.settings.tables import settings
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace

MARA = Entry(
    id="mara",
    type="character",
    name="Mara",
    aliases=("Keeper",),
    level=Level.ALWAYS,
    description="Keeps the light.",
    details={"age": "41", "eyes": "grey"},
    tags=("north",),
    relations=(Relation("will", "brother"),),
    progressions=(Progression("A thing of old.", Position("gone")),),
)
OWN = Entry(
    id="mara",
    type="character",
    name="Mara",
    aliases=("Captain",),
    details={"age": "52"},
    progressions=(Progression("She lost the light.", Position("ch-2")),),
)


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    """A series with two entries, two books of it, and a project that is not part of it."""
    store = workspace.store
    series.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        edits.put_all(tx, (MARA, Entry(id="will", type="character", name="Will", description="Rows.")))
    for book in ("one", "two", "stranger"):
        projects.create(store, book.title(), project_id=book)
        with store.write(project=book) as tx:
            for number in (1, 2, 3):
                documents.add(tx, str(number), text="Mara and Will came.", document_id=f"ch-{number}")
    series.add_book(store, "one", "coast")
    series.add_book(store, "two", "coast")
    return workspace


def codex(view: View) -> Codex:
    found = view.snapshot(Codex)
    assert found is not None
    return found


def prompt(workspace: Workspace, book: str, chapter: int) -> str:
    project = workspace.project(book)
    return project.assemble(project.request(document_id=f"ch-{chapter}")).prompt


def test_an_entry_of_the_series_is_an_entry_of_its_books_and_of_no_other(workspace: Workspace) -> None:
    for book, visible in (("one", True), ("two", True), ("stranger", False)):
        assert ("Keeps the light." in prompt(workspace, book, 1)) is visible
    assert [card.id for card in series.list_books(workspace.store, "coast")] == ["one", "two"]


def test_a_book_adds_progressions_that_earlier_books_do_not_see(workspace: Workspace) -> None:
    with workspace.store.write(project="two") as tx:
        edits.put(tx, OWN)
    visible = [["She lost the light." in prompt(workspace, book, n) for n in (1, 2)] for book in ("two", "one")]
    assert visible == [[False, True], [False, False]]
    assert "Mara (character; also Keeper, Captain): Keeps the light. Age: 52. Eyes: grey." in prompt(
        workspace, "two", 1
    )
    assert "Age: 41." in prompt(workspace, "one", 1)


def test_the_sequel_knows_what_became_true_in_book_one(workspace: Workspace) -> None:
    with workspace.store.write(project="one") as tx:
        edits.put(tx, OWN)
    assert [" She lost the light." in prompt(workspace, "two", n) for n in (1, 2, 3)] == [True] * 3
    assert "Age: 41." in prompt(workspace, "two", 1)  # what has no position stays with its book
    with workspace.store.write(project="one") as tx:
        edits.put(tx, replace(OWN, progressions=()))
    assert "She lost the light." not in prompt(workspace, "two", 3)


def test_changing_the_order_of_the_books_changes_who_knows_what(workspace: Workspace) -> None:
    with workspace.store.write(project="one") as tx:
        edits.put(tx, OWN)
    assert "She lost the light." in prompt(workspace, "two", 1)
    assert [one.title for one in workspace.order_books("coast", ["Two", "One"])] == ["Two", "One"]
    assert "She lost the light." not in prompt(workspace, "two", 3)
    for wrong in (["Two"], ["Two", "Two"], ["Two", "One", "Stranger"]):
        with pytest.raises(FabulaError) as refused:
            workspace.order_books("coast", wrong)
        assert refused.value.code is Code.PROJECT_INVALID
    series.add_book(workspace.store, "stranger", "coast")
    assert [one.id for one in series.list_earlier_books(workspace.store, "coast", "stranger")] == ["two", "one"]
    assert "She lost the light." in prompt(workspace, "stranger", 1)
    series.remove_book(workspace.store, "one")
    assert "She lost the light." not in prompt(workspace, "stranger", 1)


def test_books_without_a_place_in_the_order_tell_each_other_nothing(workspace: Workspace) -> None:
    with workspace.store.write(project="one") as tx:
        edits.put(tx, OWN)
    with workspace.store.write(project="coast") as tx:  # as an older version left it
        projects.update(tx, {"book_order": []})
    assert "She lost the light." not in prompt(workspace, "two", 3)
    assert [one.number for one in series.list_books(workspace.store, "coast")] == [None, None]


def test_fields_set_by_the_book_replace_those_of_the_series() -> None:
    own = replace(OWN, name="Mara Venn", description="Lost at sea.", level=Level.MANUAL, tags=("south",))
    found = merge_entry(MARA, own)
    assert (found.name, found.aliases) == ("Mara Venn", ("Mara", "Keeper", "Captain"))
    assert (found.description, found.level, found.tags) == ("Lost at sea.", Level.MANUAL, ("north", "south"))
    assert found.progressions == (*MARA.progressions, *OWN.progressions)
    assert merge_entry(MARA, Entry(id="mara", type="character", name="Mara")) == MARA


def test_knowledge_of_the_books_own_progressions_is_renumbered() -> None:
    shared = Codex("coast", "en", [MARA], knowledge={"codex:entity:mara": {"will": None}})
    own = Codex("one", "en", [OWN], knowledge={"codex:entity:mara#1": {"will": Position("ch-2")}})
    assert merge_codexes(shared, own).knowledge == {
        "codex:entity:mara": {"will": None},
        "codex:entity:mara#2": {"will": Position("ch-2")},
    }


def test_a_change_of_the_series_is_seen_by_the_next_request_of_every_book(workspace: Workspace) -> None:
    before = {book: workspace.views.view(book) for book in ("one", "two")}
    assert all(workspace.views.view(book) is view for book, view in before.items())
    with workspace.store.write(project="coast") as tx:
        edits.update(tx, "mara", {"description": "Sold the light."})
    for book in ("one", "two"):
        assert "Sold the light." in prompt(workspace, book, 1)
        assert codex(workspace.views.view(book)).by_id["will"] is codex(before[book]).by_id["will"]
        assert workspace.views.view(book) is workspace.views.view(book)


def test_typing_in_a_book_keeps_the_shared_codex(workspace: Workspace) -> None:
    before = codex(workspace.views.view("one"))
    names = before.name_matcher
    with workspace.store.write(project="one") as tx:
        documents.write(tx, "ch-1", "Mara left.")
    assert codex(workspace.views.view("one")) is before
    with workspace.store.write(project="one") as tx:
        edits.put(tx, replace(OWN, id="new", name="Mara", aliases=()))
        edits.remove(tx, "new")
    assert codex(workspace.views.view("one")).name_matcher is names


def test_a_warm_request_reads_only_the_versions(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.views.view("one")
    queries: list[list[str]] = []
    version_reader = workspace.store._version_reader

    class Counting:
        def read(self, owners: list[str]) -> list[int]:
            queries.append(list(owners))
            return version_reader.read(owners)

        def close(self) -> None:
            version_reader.close()

    monkeypatch.setattr(workspace.store, "_version_reader", Counting())
    monkeypatch.setattr(workspace.store, "read", None)
    workspace.views.view("one")
    assert queries == [["project:one", "user:owner", "project:coast"]]


def test_a_book_joins_another_series_or_leaves_it(workspace: Workspace) -> None:
    store = workspace.store
    series.create(store, "The Hills", project_id="hills")
    with store.write(project="hills") as tx:
        edits.put(tx, replace(MARA, description="Herds goats."))
    assert "Keeps the light." in prompt(workspace, "one", 1)
    series.add_book(store, "one", "hills")
    assert "Herds goats." in prompt(workspace, "one", 1)
    series.remove_book(store, "one")
    assert "Mara (character" not in prompt(workspace, "one", 1)
    with pytest.raises(FabulaError) as refused:
        series.remove_book(store, "one")
    assert refused.value.code is Code.PROJECT_INVALID


def test_only_a_series_is_ever_shared(workspace: Workspace) -> None:
    store = workspace.store
    with store.write(project="stranger") as tx:
        edits.put(tx, replace(MARA, id="private", name="Mara", description="A private thing."))
    for target, book in (("stranger", "one"), ("nowhere", "one"), ("coast", "coast")):
        with pytest.raises(FabulaError) as refused:
            series.add_book(store, book, target)
        assert refused.value.code is Code.PROJECT_INVALID
    with store.write(project="one") as tx:  # as a save from elsewhere might claim
        projects.update(tx, {"series_id": "stranger"})
    assert "A private thing." not in prompt(workspace, "one", 1)
    assert "Keeps the light." not in prompt(workspace, "one", 1)


def test_a_book_whose_series_is_removed_has_its_own_codex_only(workspace: Workspace) -> None:
    workspace.views.view("one")
    projects.remove(workspace.store, "coast")
    assert "Mara (character" not in prompt(workspace, "one", 1)


def test_a_series_has_prompts_of_its_own_and_knowledge_of_its_own(workspace: Workspace) -> None:
    with workspace.store.write(project="coast") as tx:
        edits.update(tx, "will", {"known_to": []})
        edits.create(tx, Entry(id="cole", type="character", name="Cole"))
        knowledge.put(tx, KnownFact(fact="codex:entity:will", knower="mara"))
    project = workspace.project("one")
    for character, visible in (("mara", True), ("cole", False)):
        queries = replace(project.request(document_id="ch-1"), character=character)
        assert ("Rows." in project.assemble(queries).prompt) is visible


@pytest.mark.parametrize(("kind", "of"), [("novel", None), ("series", "coast")])
def test_a_project_is_a_book_or_a_series(store: Store, kind: str, of: str | None) -> None:
    with pytest.raises(FabulaError) as refused:
        projects.create(store, "Odd", kind=kind, series_id=of)
    assert refused.value.code is Code.PROJECT_INVALID


def test_how_far_relations_reach_is_a_setting_of_the_project(workspace: Workspace) -> None:
    store = workspace.store
    projects.create(store, "Chain", project_id="chain")
    names = ("Anna", "Bram", "Cole", "Dora")
    with store.write(project="chain") as tx:
        documents.add(tx, "One", text="Anna came.", document_id="ch-1")
        edits.put_all(
            tx,
            [
                Entry(id=name, type="character", name=name, description="x", relations=(Relation(after, ""),))
                for name, after in zip(names, (*names[1:], "none"), strict=True)
            ],
        )
    project = workspace.project("chain")

    def reached() -> int:
        return sum(one.source.startswith("codex:") and one.included for one in project.inspect(project.request()).trace)

    assert reached() == 2
    for depth, expected in ((3, 4), (0, 1)):
        with store.write(project="chain") as tx:
            set_value(tx, "codex.relationDepth", depth)
        assert reached() == expected
    for unusable in ("far", 99):  # as an older version may have stored it
        with store.write(project="chain") as tx:
            tx.update_rows(settings, {"value": unusable}, settings.c.name == "codex.relationDepth")
        assert reached() == 2
