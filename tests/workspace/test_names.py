"""Verbs take people, chapters and conversations by any name, and refuse what there is not (ppl-4, cdx-8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabula.codex import Entry, Level, Progression, edits, progressions
from fabula.context.trace import Reason
from fabula.conversation import edits as conversations
from fabula.conversation.participants import Participant, save_participant
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import documents
from fabula.manuscript.drafts import DocumentKind
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

SECRET = "The treasure lies on the island."


@pytest.fixture
def book(store: Store) -> ProjectHandle:
    """Monte Cristo in three chapters: who knows of the treasure, and a conversation about it."""
    workspace = Workspace(store)
    project = workspace.create_project("Monte Cristo")
    with store.write(project=project.id) as tx:
        part = documents.add(tx, "Part One", document_id="part", kind=DocumentKind.PART)
        for number, title in enumerate(("Marseille", "The Château d'If", "The Island"), start=1):
            documents.add(tx, title, text=f"Edmond came. {number}", document_id=f"d{number}", parent=part)
        for ident, name, aliases in (
            ("p1", "Edmond Dantès", ("Sinbad",)),
            ("p2", "Mercédès Herrera", ("Mercédès",)),
            ("p3", "Abbé Faria", ()),
        ):
            edits.create(tx, Entry(id=ident, type="character", name=name, aliases=aliases))
        edits.create(tx, Entry(id="t", type="item", name="Treasure", description=SECRET, level=Level.ALWAYS))
        save_participant(tx, Participant(id="persona:haydee", name="Haydée"))
        conversations.start_conversation(tx, "c-1", title="On the ship")
    return project


def refuse(verb: Callable[[], Any], code: Code) -> str:
    with pytest.raises(FabulaError) as refusal:
        verb()
    assert refusal.value.code is code
    return str(refusal.value.message)


def is_known(project: ProjectHandle, character: str, chapter: str = "3") -> bool:
    request = project.request(document_id=chapter, character=character, window=8192)
    return SECRET in project.assemble(request).prompt


def test_known_to_takes_a_name_and_that_character_knows_it(book: ProjectHandle) -> None:
    entry = book.codex.edit("treasure", known_to=["abbe faria", "Haydee"])
    assert entry.known_to == frozenset({"p3", "persona:haydee"})
    assert [is_known(book, name) for name in ("Abbé", "haydée", "Mercedes")] == [True, True, False]
    assert book.codex.edit("t", known_to=["reader"]).known_to == frozenset({"reader"})
    assert book.codex.edit("t", known_to=["nobody"]).known_to == frozenset()
    assert book.codex.edit("t", known_to=["everybody"]).known_to is None


def test_unknown_people_documents_and_conversations_are_refused(book: ProjectHandle) -> None:
    before = book.codex.find("t")
    said = refuse(lambda: book.codex.edit("t", known_to=["Mercades"]), Code.STORE_NOT_FOUND)
    assert "There is no character called 'Mercades'. Did you mean Mercédès" in said
    refuse(lambda: book.codex.add("Ring", known_to=["Albert"]), Code.STORE_NOT_FOUND)
    refuse(lambda: book.codex.add_progression("t", "x", since="1", known_to=["Albert"]), Code.STORE_NOT_FOUND)
    refuse(lambda: book.codex.set_knowledge("t", "Albert"), Code.STORE_NOT_FOUND)
    said = refuse(lambda: book.codex.pin("t", "Marseile"), Code.STORE_NOT_FOUND)
    assert "There is no chapter or conversation called 'Marseile'. Did you mean Marseille?" in said
    refuse(lambda: book.request(character="Albert"), Code.STORE_NOT_FOUND)
    refuse(lambda: book.request(conversation_id="On the boat"), Code.STORE_NOT_FOUND)
    refuse(lambda: book.request(document_id="The Isle"), Code.DOCUMENT_UNKNOWN)
    refuse(lambda: book.request(include=("Ring",)), Code.STORE_NOT_FOUND)
    refuse(lambda: book.request(exclude=("Ring",)), Code.STORE_NOT_FOUND)
    refuse(lambda: book.memory.add_sample("Marsh", first="Edmond", last="came."), Code.TREE_INVALID)
    refuse(lambda: book.request(perspective="god"), Code.REQUEST_INVALID)
    assert book.codex.find("t") == before
    assert [one.name for one in book.codex.list_entries()] == ["Treasure", *sorted(_PEOPLE)]


_PEOPLE = ("Abbé Faria", "Edmond Dantès", "Mercédès Herrera")


def test_a_request_takes_names_in_place_of_ids(book: ProjectHandle) -> None:
    request = book.request(
        document_id="the chateau d'if",
        character="SINBAD",
        conversation_id="on the ship",
        include=("mercedes",),
        exclude=("Treasure", "1", "search:d3#x"),
    )
    assert (request.document_id, request.character, request.conversation_id) == ("d2", "p1", "c-1")
    assert request.include == ("codex:entity:p2",)
    assert request.exclude == ("codex:entity:t", "d1", "search:d3#x")
    data = b'{"projectId": "%s", "documentId": "3", "character": "faria"}'
    with pytest.raises(FabulaError, match="'aria'"):  # a name is found by its words, not by their ends
        book.read_request(data.replace(b"faria", b"aria") % book.id.encode())
    for name in (b"faria", b"abbe"):
        read = book.read_request(data.replace(b"faria", name) % book.id.encode())
        assert (read.document_id, read.character) == ("d3", "p3")


def test_an_ambiguous_chapter_is_named_by_its_part_and_title_never_by_an_id(workspace: Workspace) -> None:
    project = workspace.create_project("Omoo")
    for part, titles in (("Part One", ("Chapter 1", "2. The Sea")), ("Part Two", ("Chapter 1", "2. The Isle"))):
        made = project.chapters.add(part, kind="part")
        for title in titles:
            project.chapters.add(title, f"Text of {title} in {part}.", into=made.id)
    said = refuse(lambda: project.chapters.read("Chapter 1"), Code.DOCUMENT_UNKNOWN)
    assert "more than one chapter: Chapter 1 of Part One, Chapter 1 of Part Two. Say which one, by its whole" in said
    said = refuse(lambda: project.chapters.read("chapter two"), Code.DOCUMENT_UNKNOWN)
    assert "2. The Sea of Part One, 2. The Isle of Part Two" in said
    for name in ("chapter 1 of part two", "Part Two Chapter 1", "part 2, chapter 1"):
        assert project.chapters.read(name).text == "Text of Chapter 1 in Part Two."
    assert project.codex.add("Whale", since="Chapter 1 of Part Two").since == Position(
        project.chapters.read("Part Two Chapter 1").record.id, 0
    )


def test_chapters_of_one_title_and_no_number_are_named_by_what_is_before_them(workspace: Workspace) -> None:
    project = workspace.create_project("Omoo")
    for title in ("Interlude", "Chapter 1", "Interlude", "Chapter 2", "Interlude"):
        project.chapters.add(title, title, allow_duplicate=True)
    said = refuse(lambda: project.chapters.read("Interlude"), Code.DOCUMENT_UNKNOWN)
    assert "Interlude at the beginning of the book, Interlude after Chapter 1, Interlude after Chapter 2. Say" in said
    ids = [one.id for one in project.chapters.list_chapters()]
    assert project.chapters.read("interlude after chapter 2").record.id == ids[4]
    assert not any(ident in said for ident in ids)


def test_chapters_are_numbered_as_a_reader_counts_them(book: ProjectHandle) -> None:
    assert [book.request(document_id=str(number)).document_id for number in (1, 2, 3)] == ["d1", "d2", "d3"]
    assert "There is no chapter 4. The book has 3 chapters with a number." in refuse(
        lambda: book.request(document_id="4"), Code.DOCUMENT_UNKNOWN
    )


@pytest.mark.parametrize(
    ("typed", "position"),
    [
        ("2", Position("d2")),
        ("the chat", Position("d2")),
        ("marseille@6", Position("d1", 6)),
        ("The Château d'If:Edmond", Position("d2", 6)),
        ("3：Edmond", Position("d3", 6)),
    ],
)
def test_a_place_is_read_after_any_name_of_its_chapter(book: ProjectHandle, typed: str, position: Position) -> None:
    assert book.codex.edit("t", since=typed).since == position


def test_names_that_an_earlier_version_stored_as_typed_mean_their_entries(book: ProjectHandle) -> None:
    assert book.store is not None
    with book.store.write(project=book.id) as tx:
        edits.update(tx, "t", {"known_to": ["Mercedes", "Sinbad", "Nobody here"]})
        step = Progression("It was moved.", Position("d1"), frozenset({"Abbé Faria"}))
        progressions.add(tx, "t", step)
    assert [is_known(book, name) for name in ("p1", "p2", "p3")] == [True, True, False]
    with book.store.write(project=book.id) as tx:
        edits.create(tx, Entry(id="p4", type="character", name="Another", aliases=("Sinbad",)))
    assert not is_known(book, "p1"), "a name of two people means neither"


def test_who_knows_what_is_listed_with_names_and_since_when(book: ProjectHandle) -> None:
    book.codex.edit("t", known_to=["abbe"])
    book.codex.set_knowledge("t", "Edmond", since="2")
    book.codex.add_progression("t", "It is spent.", since="3", known_to=["reader"])
    found = [(one.progression, one.name, one.since) for one in book.codex.list_knowers("treasure")]
    assert found == [
        (None, "Abbé Faria", None),
        (None, "Edmond Dantès", Position("d2")),
        (1, "reader", None),
    ]
    assert book.codex.list_knowers("p1") == []


def test_a_pin_names_a_chapter_or_a_conversation_and_is_taken_back_where_that_is_gone(book: ProjectHandle) -> None:
    assert book.store is not None
    assert book.codex.pin("abbe", "on the")[1].id == "c-1"
    assert book.codex.pin("abbe", "the island")[1].id == "d3"
    with book.store.write(project=book.id) as tx:
        documents.remove(tx, "d3")
    book.codex.pin("abbe", "d3", None)


def test_why_knows_aliases_and_titles_and_shows_the_entry_first(book: ProjectHandle) -> None:
    book.codex.add_progression("edmond", "He is free.", since="3")
    result = book.inspect(book.request(document_id="3", window=8192, additional_input="Edmond Dantès speaks."))
    for name in ("Sinbad", "sinb", "edmond dantes", "p1"):
        first, second = book.explain(result, name)[:2]
        assert (first.source, second.source) == ("codex:entity:p1", "codex:entity:p1#1")
    assert first.reason is Reason.KEPT
    assert {one.source.rpartition(":")[2] for one in book.explain(result, "Marseille")} >= {"d1"}
    said = refuse(lambda: book.explain(result, "Danton"), Code.STORE_NOT_FOUND)
    assert "Did you mean Edmond Dantès" in said


def test_a_miss_never_lists_all_projects(store: Store) -> None:
    workspace = Workspace(store)
    for number in range(20):
        workspace.create_project(f"Secret novel {number}")
    said = refuse(lambda: workspace.project("Monte Cristo"), Code.PROJECT_NOT_FOUND)
    assert said.count("Secret novel") <= 3
    assert workspace.project("secret novel 13").view.project.title == "Secret novel 13"
    assert workspace.project("2").view.project.title == "Secret novel 1"
    assert "may be more than one project" in refuse(lambda: workspace.project("Secret"), Code.PROJECT_NOT_FOUND)
