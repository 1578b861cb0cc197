"""Stored knowledge decides from when on a character knows a fact (cdx-8)."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.codex import Codex, Entry, Knowledge, Progression, edits, knowledge
from fabula.codex.knowledge import KnownFact
from fabula.context.trace import Reason
from fabula.core.story import Perspective, Position
from fabula.core.view import Project, View
from fabula.manuscript import documents, projects
from fabula.manuscript.model import Document, Manuscript
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from fabula.workspace.workspace import Workspace
from tests.manuscript.stories import PROJECT, ask, everything, reason

TEXT = "Mara came."
BOOK = Manuscript(tuple(Document(f"ch-{n}", f"Chapter {n}", TEXT) for n in range(1, 7)))
FACT = "codex:entity:mara"


def mara(**fields: Any) -> Entry:
    return Entry(id="mara", type="character", name="Mara", description="A woman.", **fields)


def project_with(entry: Entry, known: Knowledge) -> ProjectHandle:
    codex = Codex(PROJECT, "en", [entry], BOOK.timeline(), knowledge=known)
    return open_view(View(Project(id=PROJECT), BOOK.timeline(), {Manuscript: BOOK, Codex: codex}))


def is_known(project: ProjectHandle, source: str, character: str | None, chapter: int) -> bool:
    vantage: dict[str, object] = (
        {"character": character} if character is not None else {"perspective": Perspective.READER}
    )
    verdict = reason(ask(project, document_id=f"ch-{chapter}", **vantage), source)
    assert verdict in (Reason.KEPT, Reason.NOT_KNOWN)
    return verdict is Reason.KEPT


def test_a_character_knows_a_fact_from_where_it_learns_it() -> None:
    project = project_with(mara(known_to=frozenset({"bram"})), {FACT: {"will": Position("ch-4")}})
    assert [is_known(project, FACT, "will", n) for n in (3, 4, 5)] == [False, True, True]
    assert [is_known(project, FACT, "bram", n) for n in (1, 4)] == [True, True]
    assert is_known(project, FACT, "cole", 5) is False
    assert is_known(project, FACT, None, 5) is False


def test_knowledge_without_a_position_holds_from_the_beginning() -> None:
    project = project_with(mara(known_to=frozenset()), {FACT: {"will": None}})
    assert is_known(project, FACT, "will", 1)
    assert not is_known(project, FACT, "cole", 1)


def test_a_character_who_learns_a_public_fact_later_does_not_know_it_before() -> None:
    project = project_with(mara(), {FACT: {"will": Position("ch-4")}})
    assert [is_known(project, FACT, "will", n) for n in (3, 4)] == [False, True]
    assert is_known(project, FACT, "cole", 1)
    assert is_known(project, FACT, None, 1)


def test_the_reader_may_learn_a_fact_too() -> None:
    project = project_with(mara(known_to=frozenset({"bram"})), {FACT: {"reader": Position("ch-3")}})
    assert [is_known(project, FACT, None, n) for n in (2, 3)] == [False, True]


def test_stored_knowledge_takes_precedence_over_known_to() -> None:
    project = project_with(mara(known_to=frozenset({"will"})), {FACT: {"will": Position("ch-4")}})
    assert [is_known(project, FACT, "will", n) for n in (3, 4)] == [False, True]


def test_a_progression_is_a_fact_of_its_own() -> None:
    steps = (Progression("she broke the lamp", Position("ch-2"), frozenset({"bram"})),)
    project = project_with(mara(progressions=steps), {f"{FACT}#1": {"will": Position("ch-4", 3)}})
    visible = [
        "she broke the lamp" in everything(ask(project, document_id=f"ch-{n}", character=character))
        for character in ("will", "bram", "cole")
        for n in (3, 4)
    ]
    assert visible == [False, True, True, True, False, False]


def test_a_character_who_does_not_know_an_entry_does_not_know_its_progressions() -> None:
    steps = (Progression("she broke the lamp", Position("ch-1")),)
    project = project_with(mara(progressions=steps), {FACT: {"will": Position("ch-4")}})
    assert not is_known(project, f"{FACT}#1", "will", 3)
    assert is_known(project, f"{FACT}#1", "will", 4)


def test_the_author_knows_every_fact() -> None:
    project = project_with(mara(known_to=frozenset()), {FACT: {"will": Position("ch-4")}})
    assert reason(ask(project, document_id="ch-1", perspective=Perspective.AUTHOR), FACT) is Reason.KEPT


@pytest.mark.parametrize("where", ["nowhere", "ch-9"])
def test_knowledge_since_a_missing_document_never_starts(where: str) -> None:
    project = project_with(mara(), {FACT: {"will": Position(where)}})
    assert not is_known(project, FACT, "will", 6)


def test_stored_knowledge_holds_from_the_next_request_on(store: Store, workspace: Workspace) -> None:
    projects.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        for number in (1, 2):
            documents.add(tx, str(number), text=TEXT, document_id=f"ch-{number}", pov="will")
        edits.put(tx, mara(known_to=frozenset()))
    project = workspace.project("coast")

    def visible() -> list[bool]:
        return ["A woman." in project.assemble(project.request(document_id=f"ch-{n}")).prompt for n in (1, 2)]

    assert visible() == [False, False]
    with store.write(project="coast") as tx:
        knowledge.put(tx, KnownFact(fact=FACT, knower="will", since=Position("ch-2")))
    assert visible() == [False, True]
    with store.write(project="coast") as tx:
        documents.write(tx, "ch-2", "Before all that, " + TEXT)
    assert visible() == [False, True]
