"""Names that nobody knows: looked up in a bounded number of steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text.names import unknown
from fabula.text.names.unknown import find_unknown_names

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)).map(lambda span: (span[0], span[0] + span[1])))


@given(SPANS)
def test_a_name_that_overlaps_a_known_span_is_not_unknown(spans: list[tuple[int, int]]) -> None:
    text = "we saw Annabel and Bertram then"
    names = [(7, 14), (19, 26)]
    apart = [name for name in names if all(name[1] <= start or name[0] >= end for start, end in spans)]
    assert find_unknown_names(text, "en", spans, []) == apart


def test_a_list_of_capitalised_words_is_looked_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def search(text: str, word: str) -> bool:
        searched.append(word)
        return False

    monkeypatch.setattr(unknown, "contains_word", search)
    words = [chr(97 + n // 676) + chr(97 + n // 26 % 26) + chr(97 + n % 26) for n in range(5_000)]
    found = find_unknown_names("".join(f"the {word.capitalize()} " for word in words), "en", [], [])
    assert len(found) == len(searched) == unknown.MAX_LOOKUPS


def test_ordinary_words_before_a_name_are_left_out() -> None:
    text = "we met " + "Monday " * 3 + "Annabel there"
    assert [text[start:end] for start, end in find_unknown_names(text, "en", [], [])] == ["Annabel"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("谁都明白，不管代价如何，话总要说出口了。", []),
        ("夜里一片宁静，窗外白云飘过，河边柳树成行，远处传来雷声。", []),
        ("门开了，叶凡走了进来。", ["叶凡"]),
        ("赵云道：“是我。”", ["赵云"]),
    ],
)
def test_a_chinese_word_of_the_dictionary_is_no_name_unless_it_speaks(text: str, names: list[str]) -> None:
    assert [text[start:end] for start, end in find_unknown_names(text, "zh", [], [])] == names
