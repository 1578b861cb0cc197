"""Search by meaning beside words: helpful where it works, never in the way where it does not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.search.corpus import Corpus
from fabula.search.embeddings.semantic_search import MAX_PROJECTS, SemanticSearch
from fabula.search.index import disk_cache as cache
from fabula.search.index.passages import DocumentText
from fabula.search.model import Query
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from tests.manuscript.stories import chapter, filler, sources, story

LIKE = {"astrolabe": 0, "instrument": 0, "gull": 1, "bird": 1}
SEXTANT = "The astrolabe lay on the table."


class Thesaurus:
    """An embedder that knows which of four words mean the same, and nothing else."""

    name = "thesaurus"
    is_local = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def can_read(self, text: str) -> bool:
        """Everything."""
        return True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The direction of the first word it knows."""
        self.asked += texts
        rows = np.full((len(texts), 3), 0.1, np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[next((at for word, at in LIKE.items() if word in text.lower()), 2)] = 1.0
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


class Broken(Thesaurus):
    """An embedder whose server is down."""

    name = "broken"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Never."""
        raise FabulaError(Code.EMBEDDING_UNAVAILABLE, message("The server is down. Search goes by words alone."))


class Slow(Thesaurus):
    """An embedder that waits on a network."""

    name = "slow"
    is_local = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """By and by."""
        time.sleep(30)
        return super().embed(texts)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of our own."""
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def meaning() -> Iterator[SemanticSearch]:
    """Meaning by the thesaurus."""
    built = SemanticSearch(Thesaurus())
    yield built
    built.close()


def make_handle(meaning: SemanticSearch) -> ProjectHandle:
    rest = [chapter(n, filler(600, f"tide{n}")) for n in (2, 3, 4)]
    return open_view(
        story(chapter(1, f"{filler(200)}\n\n***\n\n{SEXTANT}\n\n***\n\n{filler(200)}"), *rest).view, meaning=meaning
    )


def test_what_means_the_same_is_found_without_sharing_a_word(meaning: SemanticSearch) -> None:
    fabula = make_handle(meaning)
    (first,) = fabula.search("any instrument?", limit=1, make_vectors=True)
    assert first.passage.text == SEXTANT
    result = fabula.assemble(fabula.request(additional_input="Some instrument?", skill_id="chat"))
    assert SEXTANT in result.prompt
    assert result.warnings == ()


def test_a_server_that_is_down_costs_a_warning_and_nothing_else() -> None:
    fabula, plain = make_handle(SemanticSearch(Broken())), make_handle(SemanticSearch(Thesaurus()))
    request = fabula.request(additional_input="Where is the astrolabe?", skill_id="chat")
    result = fabula.assemble(request)
    assert sources(result, "search:ch-1#")
    assert [warning.partition(":")[0] for warning in result.warnings] == [Code.EMBEDDING_UNAVAILABLE.value]
    assert plain.assemble(request).warnings == ()


def test_nobody_waits_for_a_slow_server_longer_than_a_moment() -> None:
    fabula = make_handle(SemanticSearch(Slow()))
    start = time.monotonic()
    result = fabula.assemble(fabula.request(additional_input="Where is the astrolabe?", skill_id="chat"))
    assert time.monotonic() - start < 15
    assert sources(result, "search:ch-1#")
    assert [warning.partition(":")[0] for warning in result.warnings] == [Code.EMBEDDING_UNAVAILABLE.value]


def test_vectors_are_made_once_and_kept_between_processes(meaning: SemanticSearch, folder: Path) -> None:
    built = Corpus("p", [DocumentText("a", "A", f"{SEXTANT}\n\n***\n\nA gull cried.")]).build_index()
    meaning.fill("p", built)
    meaning.close()
    assert list((folder / "vectors").rglob("*.vec"))
    again = Thesaurus()
    second = SemanticSearch(again)
    near = second.score_passages("p", built, Query(parts=(("bird", 1.0),)))
    assert near.scores is not None
    assert near.scores.argmax() == 1
    assert again.asked == ["bird"]
    second.close()


def test_projects_nobody_asked_for_lately_are_let_go(meaning: SemanticSearch) -> None:
    for number in range(MAX_PROJECTS + 3):
        built = Corpus(f"p{number}", [DocumentText("a", "A", "A gull cried.")]).build_index()
        assert meaning.score_passages(f"p{number}", built, Query(parts=(("bird", 1.0),))).error is None
    assert len(meaning._projects) == MAX_PROJECTS


def test_looking_something_up_by_meaning_says_when_it_cannot_and_goes_by_words() -> None:
    fabula, notes = open_view(story(chapter(1, SEXTANT)).view, meaning=SemanticSearch(Broken())), list[str]()
    (found,) = fabula.search("astrolabe", make_vectors=True, remarks=notes)
    assert found.passage.text == SEXTANT
    assert [note.partition(":")[0] for note in notes] == [Code.EMBEDDING_UNAVAILABLE.value]
