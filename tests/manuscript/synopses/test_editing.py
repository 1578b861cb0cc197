"""Synopses that are kept: fresh and stale, by hand and made, and what happens while they are made."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.view import Language
from fabula.manuscript import documents, projects
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.tables import synopses as table
from fabula.store.store import Store
from fabula.text.names.main_characters import CharacterFinder
from fabula.text.summaries import extract_summary

MARA = "Mara lit the lamp. Mara waited for Will. Mara slept. The fog came in over the harbour wall at night. "
CAST = CharacterFinder.from_names({"Mara": (), "Will": ()})


@pytest.fixture
def book(store: Store) -> Store:
    """A store with three chapters, one of them in scenes, and an empty one."""
    projects.create(store, "Told", project_id="p")
    with store.write(project="p") as tx:
        documents.add(tx, "Part", kind=DocumentKind.PART, document_id="part")
        documents.add(tx, "One", text=MARA * 3, document_id="one", parent="part")
        documents.add(tx, "Two", document_id="two")
        documents.add(tx, "First", kind=DocumentKind.SCENE, text="Will came home.", document_id="2a", parent="two")
        documents.add(tx, "Second", kind=DocumentKind.SCENE, text="Will left again.", document_id="2b", parent="two")
        documents.add(tx, "Aside", kind=DocumentKind.NOTE, text="Not told.", document_id="note", parent="two")
        documents.add(tx, "Three", text="The end of it.", document_id="three")
        documents.add(tx, "Empty", document_id="empty")
    return store


def states(store: Store) -> dict[str, tuple[str | None, str]]:
    with store.read(project="p") as reading:
        return {kept.document_id: (kept.origin, kept.state) for kept in synopses.list_synopses(reading)}


class Told:
    """A summariser that gives these answers, the last of them again and again."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[tuple[str, str, int, list[str]]] = []
        self._answers = answers

    def __call__(self, text: str, *, language: Language, length: int, names: Sequence[str]) -> str:
        self.asked.append((text, language, length, list(names)))
        return self._answers[min(len(self.asked), len(self._answers)) - 1]


def test_every_chapter_is_listed_with_its_scenes_in_it(book: Store) -> None:
    assert list(states(book)) == ["one", "two", "three", "empty"]
    assert set(states(book).values()) == {(None, "missing")}


def test_a_synopsis_is_stale_when_its_chapter_or_a_scene_of_it_has_changed(book: Store) -> None:
    with book.write(project="p") as tx:
        assert synopses.write_synopsis(tx, "three", " The end. ") == 1
        synopses.write_synopsis(tx, "two", "Will comes and goes.", origin="model")
        synopses.write_synopsis(tx, "part", "All of it.")
    assert states(book)["two"] == ("model", "fresh")
    with book.write(project="p") as tx:
        documents.write(tx, "note", "Another aside.")
    assert states(book)["two"] == ("model", "fresh")
    with book.write(project="p") as tx:
        documents.write(tx, "2b", "Will stayed.")
        documents.write(tx, "three", "Another end.")
    assert states(book)["two"] == ("model", "stale")
    assert states(book)["three"] == ("hand", "stale")
    with book.write(project="p") as tx:
        assert synopses.write_synopsis(tx, "three", "Another end.", expected=1) == 2
    assert states(book)["three"] == ("hand", "fresh")


def test_what_cannot_be_is_refused_in_words(book: Store) -> None:
    with book.write(project="p") as tx:
        synopses.write_synopsis(tx, "three", "The end.")
    for code, ident, text, expected in (
        (Code.DOCUMENT_UNKNOWN, "nobody", "Short.", None),
        (Code.TEXT_INVALID, "three", " \n", None),
        (Code.TEXT_INVALID, "three", "x" * 9000, None),
        (Code.TEXT_INVALID, "three", "a\x00b", None),
        (Code.STORE_CONFLICT, "three", "Mine.", 7),
        (Code.STORE_NOT_FOUND, "one", "Mine.", 7),
    ):
        with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
            synopses.write_synopsis(tx, ident, text, expected=expected)
        assert refused.value.code is code
    with pytest.raises(FabulaError) as refused, book.write(project="p") as tx:
        synopses.remove_synopsis(tx, "nobody")
    assert refused.value.code is Code.DOCUMENT_UNKNOWN
    assert states(book)["three"] == ("hand", "fresh")


def test_clearing_takes_it_away_and_it_goes_with_its_document(book: Store) -> None:
    with book.write(project="p") as tx:
        synopses.write_synopsis(tx, "one", "Mara waits.")
        synopses.write_synopsis(tx, "two", "Will comes.")
        assert synopses.remove_synopsis(tx, "one")
        assert not synopses.remove_synopsis(tx, "one")
        documents.remove(tx, "two")
        assert tx.count(table) == 0


def test_what_is_missing_or_stale_is_made_and_what_is_fresh_is_left(book: Store) -> None:
    first = synopses.refresh_synopses(book, "p")
    assert [kept.document_id for kept in first.created] == ["one", "two", "three"]
    assert states(book) == {
        **dict.fromkeys(("one", "two", "three"), ("extract", "fresh")),
        "empty": (None, "missing"),
    }
    assert synopses.refresh_synopses(book, "p").created == []
    with book.write(project="p") as tx:
        documents.write(tx, "2a", "Will came home late.")
    again = synopses.refresh_synopses(book, "p")
    assert [(kept.document_id, kept.version) for kept in again.created] == [("two", 2)]
    assert "late" in again.created[0].text
    assert len(synopses.refresh_synopses(book, "p", redo_fresh=True).created) == 3
    assert len(synopses.refresh_synopses(book, "p", redo_fresh=True, document_ids=["one"]).created) == 1


def test_what_a_person_wrote_is_never_written_over(book: Store) -> None:
    with book.write(project="p") as tx:
        synopses.write_synopsis(tx, "one", "Mine.")
        synopses.write_synopsis(tx, "three", "Mine too.")
        documents.write(tx, "one", "Another text altogether.")
    done = synopses.refresh_synopses(book, "p", redo_fresh=True)
    assert done.stale_by_hand == ["one"]
    assert [kept.document_id for kept in done.created] == ["two"]
    assert states(book)["one"] == ("hand", "stale")
    assert states(book)["three"] == ("hand", "fresh")


def test_a_model_is_given_text_language_length_and_names_and_takes_the_place_of_sentences(book: Store) -> None:
    synopses.refresh_synopses(book, "p")
    model = Told("Mara keeps the light.")
    done = synopses.refresh_synopses(book, "p", language="zh", summariser=model, origin="model", characters=CAST)
    assert states(book)["one"] == ("model", "fresh")
    text, language, length, names = model.asked[0]
    assert text == MARA * 3
    assert (language, names) == ("zh", ["Mara", "Will"])
    assert 60 <= length <= 120
    assert model.asked[1][0] == "Will came home.\n\nWill left again."
    assert done.missing_characters == {"one": ("Will",)}
    assert synopses.refresh_synopses(book, "p", summariser=model, origin="model").created == []


def test_a_summariser_that_says_nothing_too_much_or_fails_costs_its_chapter_alone(book: Store) -> None:
    class Failing(Told):
        def __call__(self, text: str, *, language: Language, length: int, names: Sequence[str]) -> str:
            answer = super().__call__(text, language=language, length=length, names=names)
            if answer == "fail":
                raise FabulaError(Code.STORE_BUSY, message("It is busy."))
            return answer

    done = synopses.refresh_synopses(book, "p", summariser=Failing("fail", " \n", "The end."), origin="model")
    failed = {document: str(reason) for document, reason in done.failed.items()}
    assert failed == {"one": "It is busy.", "two": "The synopsis that came back is empty."}
    assert [kept.document_id for kept in done.created] == ["three"]
    assert "one" in synopses.refresh_synopses(book, "p", summariser=Told("x" * 9000), origin="model").failed
    assert states(book)["one"] == (None, "missing")


def test_a_chapter_that_changes_while_it_is_told_keeps_what_it_has(book: Store) -> None:
    def meanwhile(text: str, *, language: Language, length: int, names: Sequence[str]) -> str:
        """No transaction is held here: others write, or this would wait for itself."""
        with book.write(project="p") as tx:
            if text.startswith("Mara"):
                documents.write(tx, "one", "Quite another text.")
            elif text.startswith("Will"):
                synopses.write_synopsis(tx, "two", "My own words.")
            else:
                documents.remove(tx, "three")
        return extract_summary(text)

    done = synopses.refresh_synopses(book, "p", summariser=meanwhile)
    assert done.created == []
    assert done.changed_meanwhile == ["one", "two", "three"]
    assert states(book)["one"] == (None, "missing")
    assert states(book)["two"] == ("hand", "fresh")


def test_progress_is_told_for_every_chapter(book: Store) -> None:
    seen: list[tuple[int, int]] = []
    synopses.refresh_synopses(book, "p", progress=lambda done, all_of_them: seen.append((done, all_of_them)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_imported_synopses_are_fresh_and_by_hand_also_above_scenes(store: Store) -> None:
    projects.create(store, "In", project_id="p")
    scene = DocumentDraft(title="Scene", kind=DocumentKind.SCENE, text="The fog came.", synopsis="Fog.")
    chapter = DocumentDraft(title="One", synopsis="A foggy day.", children=(scene,))
    with store.write(project="p") as tx:
        documents.add_draft(tx, ManuscriptDraft(drafts=(chapter, DocumentDraft(title="Two", text="Then."))))
        found = documents.make_draft(tx)
    assert list(states(store).values()) == [("hand", "fresh"), (None, "missing")]
    assert found.drafts[0].synopsis == "A foggy day."
    assert found.drafts[0].children[0].synopsis == "Fog."
