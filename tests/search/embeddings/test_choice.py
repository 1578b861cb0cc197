"""Which way a project is searched: as its settings say, then the person's, then the machine; never at any cost."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import Code
from fabula.core.view import Project, View
from fabula.manuscript import documents, projects
from fabula.search.embeddings import embedder as embedder_module
from fabula.search.embeddings.choice import (
    AUTO,
    EMBEDDING_SETTING,
    EMBEDDING_VARIABLE,
    EmbeddingChoice,
    EmbeddingSetting,
)
from fabula.search.embeddings.semantic_search import SemanticSearch
from fabula.settings import edits as settings
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace
from tests.search.embeddings.test_semantic_search import Thesaurus

P = "coast"


def view(chosen: Any = None) -> View:
    return View(Project(id=P), snapshots={} if chosen is None else {EmbeddingSetting: EmbeddingSetting(chosen)})


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thesaurus stands where the weights would."""
    monkeypatch.setattr(embedder_module, "load_local_model", Thesaurus)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the weights."""
    monkeypatch.setattr(embedder_module, "find_spec", lambda name: None)


def test_nobody_having_said_anything_it_goes_by_words_alone(at_hand: None) -> None:
    assert EmbeddingChoice(environ={}).resolve(view()).search is None
    assert EmbeddingChoice(environ={}).resolve(view("off")).error is None
    assert EmbeddingChoice(environ={}).resolve(view(), AUTO).search is not None, (
        "whoever asks for it gets what is there"
    )


def test_a_setting_goes_before_the_environment(at_hand: None) -> None:
    chosen = EmbeddingChoice(environ={EMBEDDING_VARIABLE: "local"})
    assert chosen.resolve(view()).search is not None
    assert chosen.resolve(view("off")).search is None
    assert chosen.resolve(view("local")).search is chosen.resolve(view()).search, "made once"


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
    way = EmbeddingChoice(environ={}).resolve(view(choice))
    assert way.search is None
    assert way.error is not None
    assert way.error.code is code


def test_what_an_application_hands_over_goes_before_everything() -> None:
    meaning = SemanticSearch(Thesaurus())
    assert EmbeddingChoice(meaning, {}).resolve(view("off")).search is meaning


@pytest.fixture
def library(store: Store) -> ProjectViews:
    """A project with an astrolabe in its first chapter."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        documents.add(tx, "One", text="The astrolabe lay on the table.", document_id="ch-1")
        documents.add(tx, "Two", text="Later.", document_id="ch-2")
    return ProjectViews(store)


def test_a_stored_project_uses_it_as_soon_as_the_setting_says_so(library: ProjectViews, at_hand: None) -> None:
    workspace = Workspace(library.store)
    project = workspace.project(P)
    assert project.search("some instrument") == []
    with library.store.write(project=P, user=LOCAL_USER) as tx:
        settings.set_value(tx, EMBEDDING_SETTING, "local", scope="person")
    project.search("some instrument")  # vectors are made in the background
    workspace._embedding.close()  # waits for the batch that has begun
    assert [found.document_id for found in project.search("some instrument")][:1] == ["ch-1"]
    prompt = project.assemble(project.request(skill_id="chat", additional_input="Some instrument?")).prompt
    assert "The astrolabe lay on the table." in prompt
    with library.store.write(project=P) as tx:
        settings.set_value(tx, EMBEDDING_SETTING, "off")
    assert project.search("some instrument") == [], "the project's goes before the person's"
    workspace._embedding.close()


def test_weights_that_are_missing_cost_a_warning_and_nothing_else(library: ProjectViews, bare: None) -> None:
    project, plain = Workspace(library.store).project(P), Workspace(library.store).project(P)
    request = project.request(skill_id="chat", additional_input="Where is the astrolabe?")
    expected = plain.assemble(request).prompt
    with library.store.write(project=P) as tx:
        settings.set_value(tx, EMBEDDING_SETTING, "local")
    result = project.assemble(request)
    assert result.prompt == expected
    assert [warning.partition(":")[0] for warning in result.warnings] == [Code.EMBEDDING_UNAVAILABLE.value]
    notes: list[str] = []
    assert [found.document_id for found in project.search("astrolabe", remarks=notes)] == ["ch-1"]
    assert [note.partition(":")[0] for note in notes] == [Code.EMBEDDING_UNAVAILABLE.value]
