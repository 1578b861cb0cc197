"""The table of requirements: every home and test that it names exists, and a home names its requirements."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from msgspec import Struct

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fabula"
PAGE = ROOT / "docs" / "requirements.md"
NOT_YET = "not yet"
COUNTS = {
    "ctx": 14,
    "bud": 10,
    "pre": 3,
    "con": 4,
    "cdx": 11,
    "mem": 5,
    "cnv": 9,
    "cht": 6,
    "inj": 8,
    "sav": 3,
    "ppl": 4,
    "man": 8,
}
_ROW = re.compile(r"^\| *([a-z]{3}-\d+) *\|(.*)\|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_IDS = re.compile(r"\b([a-z]{3})-(\d+)(?: *… *(?:\1-)?(\d+))?")  # ctx-1, or a range: ctx-1 … ctx-3


class Requirement(Struct, frozen=True):
    """One row of the table."""

    id: str
    text: str
    home: str
    test: str
    interface: str

    @property
    def homes(self) -> list[str]:
        return _CODE.findall(self.home)

    @property
    def tests(self) -> list[str]:
        return _CODE.findall(self.test)


def parse(page: str) -> list[Requirement]:
    rows = []
    for row in _ROW.finditer(page):
        cells = [cell.strip() for cell in row[2].split("|")]
        assert len(cells) == 4, f"{row[1]} has {len(cells)} cells behind its id"
        rows.append(Requirement(row[1], *cells))
    return rows


@cache
def first_line(home: str) -> str:
    """The first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse((PACKAGE / home).read_text("utf-8"))) or ""
    return docstring.partition("\n")[0]


def ids_in(line: str) -> set[str]:
    """Every id that a line names, by itself or within a range."""
    return {
        f"{kind}-{number}"
        for kind, first, last in _IDS.findall(line)
        for number in range(int(first), int(last or first) + 1)
    }


REQUIREMENTS = parse(PAGE.read_text("utf-8"))
BUILT = [row for row in REQUIREMENTS if row.home != NOT_YET]


def test_every_requirement_has_one_row() -> None:
    rows = Counter(row.id for row in REQUIREMENTS)
    assert [ident for ident, count in rows.items() if count > 1] == []
    assert list(rows) == [f"{kind}-{number}" for kind, count in COUNTS.items() for number in range(1, count + 1)]


@pytest.mark.parametrize("row", REQUIREMENTS, ids=lambda row: row.id)
def test_a_row_is_complete_or_says_not_yet(row: Requirement) -> None:
    assert row.text
    if NOT_YET in (row.home, row.test, row.interface):
        assert (row.home, row.test, row.interface) == (NOT_YET, NOT_YET, NOT_YET)
    else:
        assert row.homes
        assert row.tests
        assert row.interface


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.id)
def test_the_homes_exist_and_name_the_requirement_in_their_first_line(row: Requirement) -> None:
    for home in row.homes:
        assert (PACKAGE / home).is_file(), f"{home} is gone"
        assert row.id in ids_in(first_line(home)), f"the first line of {home} does not name {row.id}"


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.id)
def test_the_tests_exist(row: Requirement) -> None:
    for test in row.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file(), f"{path} is gone"
        assert name.startswith("test_"), f"{test} names no test"
        source = (ROOT / path).read_text("utf-8")
        assert re.search(rf"^ *(?:async )?def {re.escape(name)}\(", source, re.MULTILINE), f"{test} is gone"


def test_ranges_of_ids_are_understood() -> None:
    assert ids_in("Entries (cdx-1 … cdx-3), pins (cdx-9).") == {"cdx-1", "cdx-2", "cdx-3", "cdx-9"}
    assert ids_in("Memory (mem-1…3).") == {"mem-1", "mem-2", "mem-3"}
