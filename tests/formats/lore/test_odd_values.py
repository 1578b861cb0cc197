"""Odd values in cards and books of every shape: the file comes in, says what was not used, and goes out as it came."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.formats.lore.cards import CardFields
from fabula.formats.lore.editing import FORMATS, parse_lorebook, patch_entry
from fabula.formats.lore.files import read_lorebook, write_lorebook
from fabula.lorebook.model import LorebookContents
from tests.formats.lore.samples import is_same_json, round_trip, write_json
from tests.formats.lore.shapes import CARD_3, SHAPES

Path_ = tuple[str | int, ...]
ODD: list[Any] = ["", "100", "a, b", [], {}, [3], {"odd": [1]}, 3, -1, 2.5, True, False, 1e300, [None, "x"], [["x"]]]
LARGE = ["1e999", "-1e400", "99999999999999999999", "1" + "0" * 300]
MUST_HOLD = {
    "entries",
    "data",
    "lorebook",
    "content",
    "character_book",
    "storyCards",
    "worldInfo",
    "worldinfo",
    "kind",
    "characterBook",
    "character",
    "loreItems",
    "scenarios",
    "aiName",
    "aiPersona",
    "persona",
}
WITHOUT_ENTRIES = ("card 1", "pygmalion")


def list_paths(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The path of everything in a JSON value."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        yield from list_paths(inner, (*path, step))


@cache
def list_fields(shape: str) -> list[Path_]:
    """The path of every field of a shape, but not of what makes it a book at all."""
    whole = SHAPES[shape]
    holders = {
        path for path in list_paths(whole) if path[-1] in MUST_HOLD and len(path) < 3 and path[0] != "extensions"
    }
    return [path for path in list_paths(whole) if path not in holders or path[-1] == "character_book"]


def change(raw: Any, path: Path_, value: Any) -> Any:
    """A copy with one value replaced."""
    changed = copy.deepcopy(raw)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


def read(path: Path) -> LorebookContents:
    return parse_lorebook(read_lorebook(path))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_imported_and_equal_after_export(shape: str, tmp_path: Path) -> None:
    assert is_same_json(round_trip(SHAPES[shape], tmp_path), SHAPES[shape])
    contents = read(tmp_path / "in.json")
    assert len(contents.book.entries) == (0 if shape in WITHOUT_ENTRIES else 2)
    assert not any(
        "cannot be used" in str(warning) or "is read as version" in str(warning) for warning in contents.warnings
    )
    assert all(entry.content for entry in contents.book.entries)


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_one_odd_field_never_refuses_a_whole_card(shape: str, data: st.DataObject, tmp_path: Path) -> None:
    raw = SHAPES[shape]
    anywhere = st.sampled_from(list_fields(shape))
    in_rows = st.sampled_from([path for path in list_fields(shape) if not isinstance(path[-1], int)])
    paths = data.draw(st.lists(anywhere, min_size=1, max_size=1) | st.lists(in_rows, max_size=3))
    for path in paths:
        try:
            raw = change(raw, path, data.draw(st.sampled_from(ODD)))
        except (TypeError, IndexError, KeyError):  # an earlier change removed what holds it
            continue
    assert is_same_json(round_trip(raw, tmp_path), raw)
    book = read_lorebook(tmp_path / "in.json")
    contents = parse_lorebook(book)
    if shape not in WITHOUT_ENTRIES and not any(path[-1] in MUST_HOLD for path in paths):
        assert contents.book.entries
        changed = patch_entry(book, contents.book.entries[0].uid, content="New.")
        assert "New." in (parse_lorebook(changed).book.entries[0].content or "")


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
def test_a_number_too_large_is_kept_digit_by_digit(shape: str, data: st.DataObject, tmp_path: Path) -> None:
    path, number = data.draw(st.sampled_from(list_fields(shape))), data.draw(st.sampled_from(LARGE))
    text = json.dumps(change(SHAPES[shape], path, "LARGE"), indent=4).replace('"LARGE"', number)
    (tmp_path / "in.json").write_text(text)
    book = read_lorebook(tmp_path / "in.json")
    write_lorebook(book, tmp_path / "out.json", overwrite=True)
    assert (tmp_path / "out.json").read_text() == text


FIELDS = [
    (shape, field.path)
    for shape, name in (("world info", "sillytavern"), ("card 3", "card"), ("risu", "risu"), ("novelai", "novelai"))
    for field in next(one for one in FORMATS if one.name == name).fields
]


@pytest.mark.parametrize(("shape", "field"), FIELDS, ids=lambda value: value.replace(" ", "_"))
def test_a_value_that_cannot_be_used_is_named_with_its_entry(shape: str, field: str, tmp_path: Path) -> None:
    rows: Path_ = {"world info": ("entries", "0"), "card 3": ("data", "character_book", "entries", 0)}.get(
        shape, ("data" if shape == "risu" else "entries", 0)
    )
    contents = read(write_json(tmp_path / "b.json", change(SHAPES[shape], (*rows, *field.split(".")), {"odd": 1})))
    if field in (
        "characterFilter",
        "extensions.character_filter",
    ):  # an object with other fields is a filter without names
        assert contents.book.entries[0].character_filter is not None
        return
    (warning,) = (str(one) for one in contents.warnings if "cannot be used" in str(one))
    assert repr(field) in warning
    assert "Mara" in warning


@pytest.mark.parametrize("field", CardFields.__struct_fields__)
def test_a_field_of_a_card_that_cannot_be_used_is_named(field: str, tmp_path: Path) -> None:
    raw = {**CARD_3, "data": {**CARD_3["data"], field: 3}}
    assert is_same_json(round_trip(raw, tmp_path), raw)
    warnings = [str(one) for one in read(tmp_path / "in.json").warnings if "cannot be used" in str(one)]
    assert any(repr(field) in one or f"'data.{field}'" in one for one in warnings)


@pytest.mark.parametrize(
    ("shape", "path", "value"),
    [
        ("card 2", ("data", "character_book", "entries", 0, "position"), 0),
        ("card 2", ("data", "character_book", "entries", 0, "position"), "before_char_defs"),
        ("card 2", ("data", "character_book", "entries", 0, "insertion_order"), "100"),
        ("card 2", ("data", "tags"), "a, b"),
        ("world info", ("entries", "0", "order"), "100"),
        ("world info", ("entries", "0", "scanDepth"), ""),
        ("world info", ("entries", "0", "characterFilter"), []),
        ("world info", ("entries", "0", "depth"), 2**70),
        ("world info", ("entries", "1"), 3),
        ("card 2", ("data", "character_book"), []),
        ("card 2", ("data", "character_book", "entries"), "none"),
        ("card 2", ("data", "character_book", "scan_depth"), "x"),
        ("card 2", ("data", "character_book", "entries", 0, "extensions"), 3),
        ("card 2", ("spec",), 2),
        ("lorebook 3", ("spec",), None),
    ],
    ids=str,
)
def test_the_odd_values_that_people_met(shape: str, path: Path_, value: Any, tmp_path: Path) -> None:
    raw = change(SHAPES[shape], path, value)
    if path[-1] == "position":  # it counts only where the extensions have none
        del raw["data"]["character_book"]["entries"][0]["extensions"]["position"]
    assert is_same_json(round_trip(raw, tmp_path), raw)
    contents = read(tmp_path / "in.json")
    assert shape == "lorebook 3" or any(
        "cannot be used" in str(warning) or "is read as version" in str(warning) for warning in contents.warnings
    )


def test_the_default_is_used_where_a_value_cannot_be(tmp_path: Path) -> None:
    row = {
        "uid": 0,
        "key": ["Mara", 3],
        "order": "100",
        "probability": "x",
        "useProbability": True,
        "depth": [],
        "role": {},
    }
    (entry,) = read(write_json(tmp_path / "w.json", {"entries": {"0": row}})).book.entries
    assert entry.key == ("Mara",)
    assert (entry.order, entry.probability, entry.depth, entry.role) == (100, 100, 4, None)


def test_many_entries_with_one_odd_field_are_one_warning(tmp_path: Path) -> None:
    rows = {str(n): {"uid": n, "comment": f"Entry {n}", "order": "x"} for n in range(40)}
    (warning,) = read(write_json(tmp_path / "w.json", {"entries": rows})).warnings
    assert "Entry 9 and 30 more" in str(warning)
