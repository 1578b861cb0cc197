"""Who knows which fact, and from when (cdx-8): the gate decides, knowledge tells it."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.codex import edits as service
from fabula.codex import knowledge
from fabula.codex.knowledge import Knowing
from fabula.codex.model import Codex, Entry, Knowledge, Progression
from fabula.context.trace import Reason
from fabula.core.story import Eyes, Position
from fabula.core.view import Project, View
from fabula.manuscript import documents, projects
from fabula.manuscript.model import Document, Manuscript
from fabula.store.store import Store
from fabula.workspace.project import Fabula
from fabula.workspace.views import Library
from tests.manuscript.stories import PROJECT, ask, everything, reason

TEXT = "Mara came."
BOOK = Manuscript(tuple(Document(f"ch-{n}", f"Chapter {n}", TEXT) for n in range(1, 7)))
FACT = "codex:entity:mara"


def mara(**fields: Any) -> Entry:
    return Entry(id="mara", type="character", name="Mara", description="A woman.", **fields)


def knowing(entry: Entry, known: Knowledge) -> Fabula:
    codex = Codex(PROJECT, "en", [entry], BOOK.timeline(), knowledge=known)
    return Fabula(View(Project(id=PROJECT), BOOK.timeline(), {Manuscript: BOOK, Codex: codex}))


def known_to(fabula: Fabula, source: str, who: str | None, chapter: int) -> bool:
    eyes: dict[str, object] = {"character": who} if who is not None else {"eyes": Eyes.READER}
    found = reason(ask(fabula, document_id=f"ch-{chapter}", **eyes), source)
    assert found in (Reason.KEPT, Reason.NOT_KNOWN)
    return found is Reason.KEPT


def test_whoever_learns_a_fact_knows_it_from_there_on() -> None:
    fabula = knowing(mara(known_to=frozenset({"bram"})), {FACT: {"will": Position("ch-4")}})
    assert [known_to(fabula, FACT, "will", n) for n in (3, 4, 5)] == [False, True, True]
    assert [known_to(fabula, FACT, "bram", n) for n in (1, 4)] == [True, True]
    assert known_to(fabula, FACT, "cole", 5) is False
    assert known_to(fabula, FACT, None, 5) is False


def test_whoever_always_knew_it_knows_it_from_the_beginning() -> None:
    fabula = knowing(mara(known_to=frozenset()), {FACT: {"will": None}})
    assert known_to(fabula, FACT, "will", 1)
    assert not known_to(fabula, FACT, "cole", 1)


def test_where_everybody_may_know_it_only_who_learns_it_later_does_not() -> None:
    fabula = knowing(mara(), {FACT: {"will": Position("ch-4")}})
    assert [known_to(fabula, FACT, "will", n) for n in (3, 4)] == [False, True]
    assert known_to(fabula, FACT, "cole", 1)
    assert known_to(fabula, FACT, None, 1)


def test_the_reader_may_learn_a_fact_too() -> None:
    fabula = knowing(mara(known_to=frozenset({"bram"})), {FACT: {"reader": Position("ch-3")}})
    assert [known_to(fabula, FACT, None, n) for n in (2, 3)] == [False, True]


def test_what_knowledge_says_of_a_knower_is_more_exact_than_the_entry() -> None:
    fabula = knowing(mara(known_to=frozenset({"will"})), {FACT: {"will": Position("ch-4")}})
    assert [known_to(fabula, FACT, "will", n) for n in (3, 4)] == [False, True]


def test_a_progression_is_a_fact_of_its_own() -> None:
    steps = (Progression("she broke the lamp", Position("ch-2"), frozenset({"bram"})),)
    fabula = knowing(mara(progressions=steps), {f"{FACT}#1": {"will": Position("ch-4", 3)}})
    told = [
        "she broke the lamp" in everything(ask(fabula, document_id=f"ch-{n}", character=who))
        for who in ("will", "bram", "cole")
        for n in (3, 4)
    ]
    assert told == [False, True, True, True, False, False]


def test_who_does_not_know_an_entry_yet_knows_nothing_that_becomes_of_it() -> None:
    steps = (Progression("she broke the lamp", Position("ch-1")),)
    fabula = knowing(mara(progressions=steps), {FACT: {"will": Position("ch-4")}})
    assert not known_to(fabula, f"{FACT}#1", "will", 3)
    assert known_to(fabula, f"{FACT}#1", "will", 4)


def test_the_author_knows_it_all_the_same() -> None:
    fabula = knowing(mara(known_to=frozenset()), {FACT: {"will": Position("ch-4")}})
    assert reason(ask(fabula, document_id="ch-1", eyes=Eyes.AUTHOR), FACT) is Reason.KEPT


@pytest.mark.parametrize("where", ["nowhere", "ch-9"])
def test_what_is_learnt_at_a_place_that_is_gone_is_never_learnt(where: str) -> None:
    fabula = knowing(mara(), {FACT: {"will": Position(where)}})
    assert not known_to(fabula, FACT, "will", 6)


def test_stored_knowledge_holds_from_the_next_request_on(store: Store) -> None:
    projects.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        for number in (1, 2):
            documents.add(tx, str(number), text=TEXT, document_id=f"ch-{number}", pov="will")
        service.put(tx, mara(known_to=frozenset()))
    house = Fabula.open("coast", library=Library(store))

    def told() -> list[bool]:
        return ["A woman." in house.assemble(house.request(document_id=f"ch-{n}")).prompt for n in (1, 2)]

    assert told() == [False, False]
    with store.write(project="coast") as tx:
        knowledge.know(tx, Knowing(fact=FACT, knower="will", since=Position("ch-2")))
    assert told() == [False, True]
    with store.write(project="coast") as tx:
        documents.write(tx, "ch-2", "Before all that, " + TEXT)
    assert told() == [False, True]
