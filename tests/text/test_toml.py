"""TOML of anybody: names without end are seen, and prose is left alone."""

from __future__ import annotations

import pytest

from fabula.text.toml import find_deep_key


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\n" + "a." * 60 + "a = 1", 2),
        ("x = {" + "'a' . " * 60 + "a = 1}", 1),
        ('[a."b".c]\nd = "It ended. He went. She stayed... and then? 1.2.3.4"', None),
        ("", None),
    ],
)
def test_a_name_with_too_many_parts_is_seen_by_its_line(text: str, line: int | None) -> None:
    assert find_deep_key(text) == line
