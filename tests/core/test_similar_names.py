"""Names that a person may have meant: only those that are spelled almost alike, for every verb."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.similar_names import MAX_SCORED, find_similar_names

TYPES = ["character", "location", "happening", "thing", "event", "place"]


@pytest.mark.parametrize("wanted", ["captain", "ship", "Alabama", "xyzzy", "", "a", "船长", "宝物"])
def test_names_that_are_not_spelled_alike_are_not_similar(wanted: str) -> None:
    assert find_similar_names(wanted, [*TYPES, "Ahab", "曹操", "人物"]) == []


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("Ahabb", "Ahab"),
        ("Ahba", "Ahab"),
        ("Qeequeg", "Queequeg"),
        ("charcater", "character"),
        ("Starbuk", "Mr. Starbuck"),
        ("The Candels", "The Candles and the Storm"),
        ("曹草", "曹操"),
        ("诸葛良", "诸葛亮"),
        ("武候弹琴退仲达", "第九十五回 马谡拒谏失街亭 武侯弹琴退仲达"),
    ],
)
def test_a_slip_of_the_pen_is_found(wanted: str, name: str) -> None:
    assert find_similar_names(wanted, ["Alabama", name, *TYPES])[:1] == [name]


def test_the_most_similar_name_is_the_first() -> None:
    assert find_similar_names("Marra", ["Maria", "Mara", "Marta", "Maron"], most=2) == ["Maria", "Mara"]
    assert find_similar_names("Stubbbs", ["Stubbed", "Stubbs"]) == ["Stubbs", "Stubbed"]


@given(st.text("abcdé林远", min_size=4, max_size=12), st.data())
def test_one_wrong_letter_is_always_forgiven(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    wrong = name[:at] + "x" + name[at + 1 :]
    others = [f"{number}zzzzzzzzzzzzzzzz" for number in range(MAX_SCORED)]
    assert name in find_similar_names(wrong, [*others, name])
