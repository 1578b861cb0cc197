"""A series: several books share a codex, and each adds its own (man-3)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.codex import edits as service
from fabula.codex import knowledge
from fabula.codex.knowledge import Knowing
from fabula.codex.model import Codex, Entry, Level, Progression, Relation
from fabula.codex.series import extended, together
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.core.view import View
from fabula.manuscript import documents, projects, series
from fabula.settings import edits as settings
from fabula.store.store import Store
from fabula.workspace.project import Fabula
from fabula.workspace.views import RELATION_DEPTH, Library

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
def library(store: Store) -> Library:
    """A series with one entry, two books of it, and a stranger."""
    series.begin(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        service.put_all(tx, (MARA, Entry(id="will", type="character", name="Will", description="Rows.")))
    for book in ("one", "two", "stranger"):
        projects.create(store, book.title(), project_id=book)
        with store.write(project=book) as tx:
            for number in (1, 2, 3):
                documents.add(tx, str(number), text="Mara and Will came.", document_id=f"ch-{number}")
    series.join(store, "one", "coast")
    series.join(store, "two", "coast")
    return Library(store)


def codex(view: View) -> Codex:
    found = view.room(Codex)
    assert found is not None
    return found


def prompt(library: Library, book: str, chapter: int) -> str:
    house = Fabula.open(book, library=library)
    return house.assemble(house.request(document_id=f"ch-{chapter}")).prompt


def test_an_entry_of_the_series_is_an_entry_of_its_books_and_of_no_other(library: Library) -> None:
    for book, told in (("one", True), ("two", True), ("stranger", False)):
        assert ("Keeps the light." in prompt(library, book, 1)) is told
    assert [card.id for card in series.books(library.store, "coast")] == ["one", "two"]


def test_a_book_adds_what_becomes_true_in_it_and_the_other_does_not_know(library: Library) -> None:
    with library.store.write(project="one") as tx:
        service.put(tx, OWN)
    told = [["She lost the light." in prompt(library, book, n) for n in (1, 2)] for book in ("one", "two")]
    assert told == [[False, True], [False, False]]
    assert "Mara (character; also Keeper, Captain): Keeps the light. Age: 52. Eyes: grey." in prompt(library, "one", 1)
    assert "Age: 41." in prompt(library, "two", 1)


def test_fields_said_by_the_book_win_and_the_rest_is_the_series() -> None:
    own = replace(OWN, name="Mara Venn", description="Lost at sea.", level=Level.MANUAL, tags=("south",))
    found = extended(MARA, own)
    assert (found.name, found.aliases) == ("Mara Venn", ("Mara", "Keeper", "Captain"))
    assert (found.description, found.level, found.tags) == ("Lost at sea.", Level.MANUAL, ("north", "south"))
    assert found.progressions == (*MARA.progressions, *OWN.progressions)
    assert extended(MARA, Entry(id="mara", type="character", name="Mara")) == MARA


def test_what_is_known_in_the_book_moves_with_the_numbers() -> None:
    shared = Codex("coast", "en", [MARA], knowledge={"codex:entity:mara": {"will": None}})
    own = Codex("one", "en", [OWN], knowledge={"codex:entity:mara#1": {"will": Position("ch-2")}})
    assert together(shared, own).knowledge == {
        "codex:entity:mara": {"will": None},
        "codex:entity:mara#2": {"will": Position("ch-2")},
    }


def test_a_change_of_the_series_is_seen_by_the_next_request_of_every_book(library: Library) -> None:
    before = {book: library.view(book) for book in ("one", "two")}
    assert all(library.view(book) is view for book, view in before.items())
    with library.store.write(project="coast") as tx:
        service.update(tx, "mara", {"description": "Sold the light."})
    for book in ("one", "two"):
        assert "Sold the light." in prompt(library, book, 1)
        assert codex(library.view(book)).by_id["will"] is codex(before[book]).by_id["will"]
        assert library.view(book) is library.view(book)


def test_typing_in_a_book_keeps_the_shared_codex(library: Library) -> None:
    before = codex(library.view("one"))
    names = before.names
    with library.store.write(project="one") as tx:
        documents.write(tx, "ch-1", "Mara left.")
    assert codex(library.view("one")) is before
    with library.store.write(project="one") as tx:
        service.put(tx, replace(OWN, id="new", name="Mara", aliases=()))
        service.remove(tx, "new")
    assert codex(library.view("one")).names is names


def test_a_warm_request_asks_one_question(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.view("one")
    asked: list[list[str]] = []
    heads = library.store._heads

    class Counting:
        def __call__(self, owners: list[str]) -> list[int]:
            asked.append(list(owners))
            return heads(owners)

        def close(self) -> None:
            heads.close()

    monkeypatch.setattr(library.store, "_heads", Counting())
    monkeypatch.setattr(library.store, "read", None)
    library.view("one")
    assert asked == [["project:one", "user:owner", "project:coast"]]


def test_a_book_joins_another_series_or_leaves_it(library: Library) -> None:
    store = library.store
    series.begin(store, "The Hills", project_id="hills")
    with store.write(project="hills") as tx:
        service.put(tx, replace(MARA, description="Herds goats."))
    assert "Keeps the light." in prompt(library, "one", 1)
    series.join(store, "one", "hills")
    assert "Herds goats." in prompt(library, "one", 1)
    series.leave(store, "one")
    assert "Mara (character" not in prompt(library, "one", 1)
    with pytest.raises(FabulaError) as refused:
        series.leave(store, "one")
    assert refused.value.code is Code.PROJECT_INVALID


def test_only_a_series_is_ever_shared(library: Library) -> None:
    store = library.store
    with store.write(project="stranger") as tx:
        service.put(tx, replace(MARA, id="private", name="Mara", description="A private thing."))
    for target, book in (("stranger", "one"), ("nowhere", "one"), ("coast", "coast")):
        with pytest.raises(FabulaError) as refused:
            series.join(store, book, target)
        assert refused.value.code is Code.PROJECT_INVALID
    with store.write(project="one") as tx:  # as a save from elsewhere might claim
        projects.edit(tx, {"series_id": "stranger"})
    assert "A private thing." not in prompt(library, "one", 1)
    assert "Keeps the light." not in prompt(library, "one", 1)


def test_a_book_whose_series_is_gone_stands_by_itself(library: Library) -> None:
    library.view("one")
    projects.remove(library.store, "coast")
    assert "Mara (character" not in prompt(library, "one", 1)


def test_a_series_has_prompts_of_its_own_and_knowledge_of_its_own(library: Library) -> None:
    with library.store.write(project="coast") as tx:
        service.update(tx, "will", {"known_to": []})
        knowledge.know(tx, Knowing(fact="codex:entity:will", knower="mara"))
    house = Fabula.open("one", library=library)
    for who, told in (("mara", True), ("cole", False)):
        asked = house.request(document_id="ch-1", character=who)
        assert ("Rows." in house.assemble(asked).prompt) is told


@pytest.mark.parametrize(("kind", "of"), [("novel", None), ("series", "coast")])
def test_a_project_is_a_book_or_a_series(store: Store, kind: str, of: str | None) -> None:
    with pytest.raises(FabulaError) as refused:
        projects.create(store, "Odd", kind=kind, series=of)
    assert refused.value.code is Code.PROJECT_INVALID


def test_how_far_relations_reach_is_a_setting_of_the_project(store: Store) -> None:
    projects.create(store, "Chain", project_id="chain")
    names = ("Anna", "Bram", "Cole", "Dora")
    with store.write(project="chain") as tx:
        documents.add(tx, "One", text="Anna came.", document_id="ch-1")
        service.put_all(
            tx,
            [
                Entry(id=name, type="character", name=name, description="x", relations=(Relation(after, ""),))
                for name, after in zip(names, (*names[1:], "none"), strict=True)
            ],
        )
    house = Fabula.open("chain", library=Library(store))

    def reached() -> int:
        return sum(one.source.startswith("codex:") and one.included for one in house.inspect(house.request()).trace)

    assert reached() == 2
    for depth, expected in ((3, 4), (0, 1), ("far", 2), (99, 2)):
        with store.write(project="chain") as tx:
            settings.put(tx, RELATION_DEPTH, depth)
        assert reached() == expected
