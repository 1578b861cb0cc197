"""Names nobody should have, and what becomes of them: kept by rule, or refused whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.codex import edits as service
from fabula.codex.model import Codex, Entry
from fabula.codex.validation import LONGEST_NAME, MOST_NAMES
from fabula.core.errors import Code
from fabula.store.store import Store
from fabula.text.names.matcher import Case, Rules
from tests.codex.test_edits import WILL, coast, entry, refusal

__all__ = ["coast"]


def found(text: str, *names: str) -> list[str]:
    entries = [Entry(id=f"e{n}", type="other", name=name) for n, name in enumerate(names)]
    return [text[hit.start : hit.end] for hit in Codex("p", "en", entries).names.find(text)]


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "\n",
        "two\nlines",
        "car\rriage",
        "a\x00b",
        "bell\x07",
        "line\u2028break",
        "tab\there",
        "x" * 10_000,
        "\ud800",
    ],
)
def test_a_name_that_cannot_stand_on_a_line_is_refused_and_nothing_is_half_done(coast: Store, name: str) -> None:
    bad = replace(WILL, id="new", name=name)
    good = replace(WILL, id="good")
    assert refusal(coast, lambda tx: service.put_all(tx, (good, bad))) is Code.CODEX_INVALID
    if name.strip():
        assert refusal(coast, lambda tx: service.update(tx, "will", {"aliases": [name]})) is Code.CODEX_INVALID
        assert refusal(coast, lambda tx: service.update(tx, "will", {"tags": [name]})) is Code.CODEX_INVALID
    assert refusal(coast, lambda tx: service.get(tx, "good")) is Code.STORE_NOT_FOUND


def test_a_name_may_be_just_so_long(coast: Store) -> None:
    with coast.write(project="coast") as tx:
        service.update(tx, "will", {"name": "x" * LONGEST_NAME})
    assert refusal(coast, lambda tx: service.update(tx, "will", {"name": "x" * (LONGEST_NAME + 1)}))


def test_ten_thousand_aliases_are_refused_at_once(coast: Store) -> None:
    many = [f"alias {n}" for n in range(10_000)]
    assert refusal(coast, lambda tx: service.update(tx, "will", {"aliases": many})) is Code.CODEX_INVALID
    with coast.write(project="coast") as tx:
        service.update(tx, "will", {"aliases": many[:MOST_NAMES]})
    assert len(entry(coast, "will").entry.aliases) == MOST_NAMES


@pytest.mark.parametrize("name", ["(a+)+$", "[a-z]*", ".*", "a|b", "\\d", "^$", "Mara (elder)"])
def test_a_name_that_is_a_pattern_is_taken_literally(coast: Store, name: str) -> None:
    with coast.write(project="coast") as tx:
        service.put(tx, replace(WILL, id="odd", name=name))
    assert entry(coast, "odd").entry.name == name
    assert found("aaaa a b abc 5 Mara elder", name) == []
    assert found(f"They saw {name} there.", name) == [name]


def test_a_name_of_one_character_is_kept_and_found_only_where_that_is_safe(coast: Store) -> None:
    with coast.write(project="coast") as tx:
        service.update(tx, "will", {"aliases": ["W", "I", "a", "琴", "7"]})
    assert entry(coast, "will").entry.aliases == ("W", "I", "a", "琴", "7")
    text = "I saw a 7 and K. came, A Kite too. Q? O, 琴声，琴，x"
    assert found(text, "K", "Q", "I", "A", "O", "a", "x", "7", "琴") == ["K", "Q", "琴"]


def test_how_names_are_found_is_kept_with_the_entry(coast: Store) -> None:
    rules = {"case": "exact", "without": ["free will"]}
    with coast.write(project="coast") as tx:
        service.update(tx, "will", {"rules": rules})
    kept = entry(coast, "will").entry
    assert kept.rules == Rules(case=Case.EXACT, without=("free will",))
    names = Codex("p", "en", [kept]).names
    assert [hit.start for hit in names.find("Will has free Will, WILL said.")] == [0]
    assert refusal(coast, lambda tx: service.update(tx, "will", {"rules": {"case": "odd"}})) is Code.CODEX_INVALID
