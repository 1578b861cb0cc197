"""Entries that a model found: read with doubt, and held against the text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.skills.extracted_entries import LONGEST_DESCRIPTION, MOST, read_entries

TEXT = "Before the war Anna Lind kept the ferry. 林远走了过来。 The ferry was called Heron; people said the Old Heron."


def found(*rows: Any, known: tuple[str, ...] = (), offset: int = 0) -> list[Any]:
    return read_entries(json.dumps({"entries": rows}), TEXT, "ch-9", known, offset=offset)


def row(name: Any, **more: Any) -> dict[str, Any]:
    return {"type": "character", "name": name, "aliases": [], "description": "Kept the ferry.", **more}


def test_an_entry_holds_from_where_its_name_first_stands() -> None:
    (anna,) = found(row("Anna Lind"), offset=100)
    assert anna.since == Position("ch-9", 100 + TEXT.index("Anna Lind"))
    assert (anna.type, anna.description) == ("character", "Kept the ferry.")


def test_a_longer_word_that_begins_like_a_name_is_not_its_first_place() -> None:
    text = "Annual fairs came and went. Ann kept the ferry."
    (ann,) = read_entries(json.dumps({"entries": [row("Ann")]}), text, "ch-9", ())
    assert ann.since == Position("ch-9", text.index("Ann kept"))


def test_what_does_not_stand_in_the_text_is_left_out_aliases_too() -> None:
    (heron,) = found(row("Heron", type="item", aliases=["Old Heron", "The Swan", 7]), row("Peter"), row("Her"))
    assert (heron.name, heron.aliases) == ("Heron", ("Old Heron",))
    assert [entry.name for entry in found(row("林远"))] == ["林远"]


def test_whom_the_codex_knows_by_any_name_is_not_entered_again() -> None:
    assert found(row("Anna Lind"), known=("anna lind",)) == []
    assert len(found(row("Anna Lind"), row("Anna Lind"))) == 1
    assert found(row("Heron", aliases=["Old Heron"]), known=("Old Heron",)) == []


@pytest.mark.parametrize("name", ["", "  ", 7, None, ["Anna"], "x" * 500])
def test_rows_that_make_no_sense_are_passed_over(name: object) -> None:
    assert [entry.name for entry in found(row(name), {}, row("Heron", type="boat"))] == ["Heron"]
    assert found(row("Heron", type="boat"))[0].type == "other"
    assert found(row("Heron", description="x" * (LONGEST_DESCRIPTION + 1)))[0].description == ""


def test_no_answer_brings_more_than_so_many() -> None:
    text = " ".join(f"Name{number}x" for number in range(MOST + 50))
    rows = [row(f"Name{number}x") for number in range(MOST + 50)]
    assert len(read_entries(json.dumps({"entries": rows}), text, "d", ())) == MOST


@pytest.mark.parametrize("answer", ["", "none", "[]", '{"entries": {}}', '{"entries": [1]}', "{" * 5000])
def test_an_answer_that_cannot_be_read_is_refused(answer: str) -> None:
    with pytest.raises(FabulaError) as refused:
        read_entries(answer, TEXT, "d", ())
    assert refused.value.code is Code.LLM_ANSWER_INVALID
