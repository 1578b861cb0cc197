"""Looking something up on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabula.core.errors import Code
from fabula.search.index import disk_cache as cache
from fabula.workspace.search import mark_words
from tests.cli.test_projects import Desk


@pytest.fixture
def desk(tmp_path: Path, prepared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk for each engine, with a sample story in its store."""
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    made = Desk(tmp_path, prepared, monkeypatch, capsys)
    made.run("new", "Coast", "--from", "sample:lantern_coast")
    return made


def found(desk: Desk, *words: str) -> list[dict[str, Any]]:
    passages: list[dict[str, Any]] = json.loads(desk.run("search", *words, "--json"))["passages"]
    return passages


@pytest.mark.parametrize("project", ["Coast", "sample:lantern_coast"])
def test_passages_come_with_their_place_score_and_marked_words(desk: Desk, project: str) -> None:
    passages = found(desk, project, "the", "weight", "of", "the", "clock")
    assert passages
    first = passages[0]
    assert {"source", "documentId", "chapter", "title", "start", "end", "score", "text", "marks"} <= first.keys()
    assert first["score"] == max(one["score"] for one in passages)
    marked = {first["text"][start:end].lower() for start, end in first["marks"]}
    assert marked & {"weight", "clock"}
    said = desk.run("search", project, "the weight of the clock")
    assert first["title"] in said
    assert f"chapter {first['chapter']}" in said


def test_a_folder_and_its_copy_in_the_store_answer_alike(desk: Desk) -> None:
    words = ("who put out the lamp", "-n", "5")
    assert found(desk, "Coast", *words) == found(desk, "sample:lantern_coast", *words)


@pytest.mark.parametrize("until", ["ch-02", "2"])
def test_nothing_is_found_beyond_the_chapter_that_is_named(desk: Desk, until: str) -> None:
    near = found(desk, "Coast", "Mara Grace lamp log", "--until", until, "-n", "50")
    assert {one["documentId"] for one in near} <= {"ch-01", "ch-02"}
    far = found(desk, "Coast", "Mara Grace lamp log", "--until", until, "--all", "-n", "50")
    assert {one["documentId"] for one in far} - {"ch-01", "ch-02"}


def test_chinese_is_found_by_its_characters(desk: Desk) -> None:
    first = found(desk, "sample:wugang", "守礁人")[0]
    assert any(first["text"][start:end] == "守礁人" for start, end in first["marks"])


def test_nothing_found_is_said_and_is_no_error(desk: Desk) -> None:
    assert "Nothing was found" in desk.run("search", "Coast", "xylophone", code=1)
    assert json.loads(desk.run("search", "Coast", "xylophone", "--json", code=1))["passages"] == []


def test_the_index_can_be_made_anew(desk: Desk) -> None:
    assert found(desk, "Coast", "lamp", "--rebuild") == found(desk, "Coast", "lamp")


def test_it_says_where_the_cache_folder_is(desk: Desk) -> None:
    assert desk.run("search", "--where").strip() == str(desk.folder / "cache")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], Code.REQUEST_INVALID),
        (["Coast"], Code.REQUEST_INVALID),
        (["Coast", " "], Code.REQUEST_INVALID),
        (["Coast", "lamp", "--until", "ch-99"], Code.DOCUMENT_UNKNOWN),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, words: list[str], code: Code) -> None:
    assert desk.run("search", *words, code=2).startswith(code.value)


def test_words_are_marked_where_they_stand() -> None:
    assert mark_words("The Lamp, the lamps.", "the lamp") == [(4, 8), (14, 19)]
    assert mark_words("她看见灯塔，灯亮了", "灯") == [(3, 4), (6, 7)]
    assert mark_words("她看见灯塔亮了", "灯塔") == [(3, 5)]
    assert mark_words("她看见灯塔亮了", "灯塔亮") == [(3, 6)]
    assert mark_words("nothing here", "lamp") == []


def test_a_prompt_that_is_asked_for_once_waits_for_the_index(desk: Desk) -> None:
    page = "The heron-shaped lamp stood in the east window. " + "Rain fell on the yard all day. " * 40
    book = "\n\n".join(f"# Chapter {number}\n\n{page if number == 3 else page[50:]}" for number in range(1, 200))
    (desk.folder / "long.md").write_text(book + "\n\nWhere was the heron-shaped lamp?", "utf-8")
    desk.run("import", "long.md", "--title", "Long")
    found = json.loads(desk.run("assemble", "Long", "--json"))
    assert not any("RETRIEVAL_NOT_READY" in warning for warning in found["warnings"])
    assert "heron-shaped lamp stood in the east window" in found["prompt"]
