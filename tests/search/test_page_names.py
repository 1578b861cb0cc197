"""A page finds what the book tells of the people and places it names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fabula.search import Passage, Query, SearchDocument, SearchIndex
from fabula.search.page_names import MAX_CANDIDATES, list_candidates

DETAIL = "Tamsin had promised her drowned brother that she would never again go out after dark."
FILLER = [
    "Tamsin mended a net and hummed to herself.",
    "The lamp over the harbour was lit, and the cord of the bell hung straight.",
    "A grey cat slept on the letters in the office.",
    "Rain fell on the boats all afternoon.",
    "Tamsin bought bread and a candle from the woman at the corner.",
    "The postman had forgotten the letters again.",
]
PAGE = "Tamsin looked at the cord, the candle and the cat, and did not move."


def make_index(texts: Sequence[str]) -> SearchIndex:
    """An index of one document whose passages are these texts, in a book of many others."""
    texts = [*texts, *(f"On day {number} nothing happened at all." for number in range(60))]
    return SearchIndex([SearchDocument("book", tuple(Passage(f"search:book#{n}", t) for n, t in enumerate(texts)))])


def find_best(texts: Sequence[str], page: str, names: tuple[str, ...] = ()) -> str:
    """The best passage for a page."""
    index = make_index(texts)
    hits = index.search(Query(parts=((page, 1.0),), names=names, is_page=True), limit=3)
    return index.passages[hits[0].passage_number].text


def test_rare_incidental_words_do_not_outrank_what_is_told_of_somebody_on_the_page() -> None:
    assert find_best([*FILLER, DETAIL], PAGE) == DETAIL


def test_a_name_at_the_beginning_of_a_sentence_counts() -> None:
    assert find_best([*FILLER, DETAIL], "Nobody spoke. Tamsin stood there.") == DETAIL


def test_a_chinese_name_that_no_dictionary_knows_is_one_where_the_book_keeps_it_together() -> None:
    detail = "沈砚自幼怕水，每逢渡江必闭目默念亡母之名。"
    filler = ["沈砚推门进来。", "天色渐晚，街上没有人。", "沈砚点灯读信。", "沈砚笑了一笑。", "灯火照着桌上的书信。"]
    assert find_best([*filler, detail], "沈砚站在船头，灯火远了。") == detail


def test_another_name_of_an_entry_on_the_page_finds_what_is_told_of_it() -> None:
    assert find_best([*FILLER, DETAIL], "The captain's daughter stood still.", ("Tamsin",)) == DETAIL


def test_a_word_that_the_book_writes_small_is_no_name() -> None:
    texts = ["The rain had never ceased since her brother died.", "They spoke of the rain.", "Rain fell.", "A dry day."]
    index = make_index(texts)
    hits = index.search(Query(parts=(("A dry day. Rain came.", 1.0),), is_page=True), limit=4)
    assert index.passages[hits[0].passage_number].text == "A dry day."


@pytest.mark.parametrize("page", ["Anna Berta Cara " * 50_000, "王" * 100_000, "Zed" + "-Zed" * 50_000, ""])
def test_a_page_of_any_length_has_a_bounded_number_of_candidates(page: str) -> None:
    assert len(list_candidates(Query(parts=((page, 1.0),), is_page=True))) <= MAX_CANDIDATES
