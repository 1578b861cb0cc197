"""Which way a project is searched: as its settings say, then the person's, then the machine; never at any cost."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import Code
from fabula.core.view import Project, View
from fabula.manuscript import documents, projects
from fabula.search.embeddings import dense
from fabula.search.embeddings.choice import AUTO, SETTING, VARIABLE, Chosen, Embedding
from fabula.search.embeddings.embedder import Meaning
from fabula.settings import edits as settings
from fabula.store.store import OWNER, Store
from fabula.workspace.project import Fabula
from fabula.workspace.views import Library
from tests.search.embeddings.test_embedder import Thesaurus

P = "coast"


def view(chosen: Any = None) -> View:
    return View(Project(id=P), rooms={} if chosen is None else {Embedding: Embedding(chosen)})


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thesaurus stands where the weights would."""
    monkeypatch.setattr(dense, "local", Thesaurus)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the weights."""
    monkeypatch.setattr(dense, "find_spec", lambda name: None)


def test_nobody_having_said_anything_it_goes_by_words_alone(at_hand: None) -> None:
    assert Chosen(environ={}).way(view()).meaning is None
    assert Chosen(environ={}).way(view("off")).warning == ""
    assert Chosen(environ={}).way(view(), AUTO).meaning is not None, "whoever asks for it gets what is there"


def test_a_setting_goes_before_the_environment(at_hand: None) -> None:
    chosen = Chosen(environ={VARIABLE: "local"})
    assert chosen.way(view()).meaning is not None
    assert chosen.way(view("off")).meaning is None
    assert chosen.way(view("local")).meaning is chosen.way(view()).meaning, "made once"


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ("local", Code.EMBEDDING_UNAVAILABLE),
        ("auto", Code.EMBEDDING_UNAVAILABLE),
        ("endpoint", Code.EMBEDDING_UNAVAILABLE),
        ("banana", Code.SETTING_INVALID),
        (7, Code.SETTING_INVALID),
        ({"url": "https://elsewhere.example/v1"}, Code.SETTING_INVALID),
    ],
)
def test_a_choice_that_cannot_be_followed_is_a_warning(bare: None, choice: Any, code: Code) -> None:
    way = Chosen(environ={}).way(view(choice))
    assert way.meaning is None
    assert way.warning.startswith(f"{code.value}: ")


def test_what_an_application_hands_over_goes_before_everything() -> None:
    meaning = Meaning(Thesaurus())
    assert Chosen(meaning, {}).way(view("off")).meaning is meaning


@pytest.fixture
def library(store: Store) -> Library:
    """A project with an astrolabe in its first chapter."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        documents.add(tx, "One", text="The astrolabe lay on the table.", document_id="ch-1")
        documents.add(tx, "Two", text="Later.", document_id="ch-2")
    return Library(store)


def test_a_stored_project_uses_it_as_soon_as_the_setting_says_so(library: Library, at_hand: None) -> None:
    house = Fabula.open(P, library=library)
    assert house.search("some instrument") == []
    with library.store.write(project=P, user=OWNER) as tx:
        settings.put(tx, SETTING, "local", scope="user")
    house.search("some instrument")  # vectors are made in the background
    house.close()
    assert [found.thread for found in house.search("some instrument")][:1] == ["ch-1"]
    prompt = house.assemble(house.request(skill_id="chat", additional_input="Some instrument?")).prompt
    assert "The astrolabe lay on the table." in prompt
    with library.store.write(project=P) as tx:
        settings.put(tx, SETTING, "off")
    assert house.search("some instrument") == [], "the project's goes before the person's"
    house.close()


def test_weights_that_are_missing_cost_a_warning_and_nothing_else(library: Library, bare: None) -> None:
    house, plain = Fabula.open(P, library=library), Fabula.open(P, library=library)
    request = house.request(skill_id="chat", additional_input="Where is the astrolabe?")
    expected = plain.assemble(request).prompt
    with library.store.write(project=P) as tx:
        settings.put(tx, SETTING, "local")
    result = house.assemble(request)
    assert result.prompt == expected
    assert [warning.partition(":")[0] for warning in result.warnings] == [Code.EMBEDDING_UNAVAILABLE.value]
    notes: list[str] = []
    assert [found.thread for found in house.search("astrolabe", notes=notes)] == ["ch-1"]
    assert [note.partition(":")[0] for note in notes] == [Code.EMBEDDING_UNAVAILABLE.value]
