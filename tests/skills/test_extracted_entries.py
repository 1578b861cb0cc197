"""Entries that a model extracted: parsed and checked against the text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.skills.extracted_entries import MAX_DESCRIPTION_CHARACTERS, MAX_ENTRIES, parse_entries

TEXT = "Before the war Anna Lind kept the ferry. 林远走了过来。 The ferry was called Heron; people said the Old Heron."


def parse(*rows: Any, known: tuple[str, ...] = (), offset: int = 0) -> list[Any]:
    return parse_entries(json.dumps({"entries": rows}), TEXT, "ch-9", known, offset=offset)


def row(name: Any, **more: Any) -> dict[str, Any]:
    return {"type": "character", "name": name, "aliases": [], "description": "Kept the ferry.", **more}


def test_an_entry_is_visible_from_the_first_mention_of_its_name() -> None:
    (anna,) = parse(row("Anna Lind"), offset=100)
    assert anna.since == Position("ch-9", 100 + TEXT.index("Anna Lind"))
    assert (anna.type, anna.description) == ("character", "Kept the ferry.")


def test_a_longer_word_that_begins_like_a_name_is_not_a_mention() -> None:
    text = "Annual fairs came and went. Ann kept the ferry."
    (ann,) = parse_entries(json.dumps({"entries": [row("Ann")]}), text, "ch-9", ())
    assert ann.since == Position("ch-9", text.index("Ann kept"))


def test_names_and_aliases_that_are_not_in_the_text_are_left_out() -> None:
    (heron,) = parse(row("Heron", type="item", aliases=["Old Heron", "The Swan", 7]), row("Peter"), row("Her"))
    assert (heron.name, heron.aliases) == ("Heron", ("Old Heron",))
    assert [entry.name for entry in parse(row("林远"))] == ["林远"]


def test_an_entry_with_a_name_that_the_codex_knows_is_left_out() -> None:
    assert parse(row("Anna Lind"), known=("anna lind",)) == []
    assert len(parse(row("Anna Lind"), row("Anna Lind"))) == 1
    assert parse(row("Heron", aliases=["Old Heron"]), known=("Old Heron",)) == []


@pytest.mark.parametrize("name", ["", "  ", 7, None, ["Anna"], "x" * 500])
def test_invalid_rows_are_skipped(name: object) -> None:
    assert [entry.name for entry in parse(row(name), {}, row("Heron", type="boat"))] == ["Heron"]
    assert parse(row("Heron", type="boat"))[0].type == "other"
    assert parse(row("Heron", description="x" * (MAX_DESCRIPTION_CHARACTERS + 1)))[0].description == ""


def test_the_number_of_entries_is_bounded() -> None:
    text = " ".join(f"Name{number}x" for number in range(MAX_ENTRIES + 50))
    rows = [row(f"Name{number}x") for number in range(MAX_ENTRIES + 50)]
    assert len(parse_entries(json.dumps({"entries": rows}), text, "d", ())) == MAX_ENTRIES


@pytest.mark.parametrize("answer", ["", "none", "[]", '{"entries": {}}', '{"entries": [1]}', "{" * 5000])
def test_an_unreadable_answer_is_refused(answer: str) -> None:
    with pytest.raises(FabulaError) as refused:
        parse_entries(answer, TEXT, "d", ())
    assert refused.value.code is Code.LLM_ANSWER_INVALID
