"""A page finds what the book tells of the people and places it names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

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


def test_another_word_with_the_stem_of_a_name_does_not_hide_it() -> None:
    detail = "Pip had feared bells ever since his father was sold."
    pipes = [f"He filled his pipe and smoked it for {number} hours." for number in range(8)]
    texts = [*pipes, "Pip sat by the windlass.", "The beans were cold and the money was gone.", detail]
    assert find_best(texts, "The pipes lay about. Pip counted beans and money.") == detail


@pytest.mark.parametrize("name", ["Spouter-Inn", "O’Brien", "McGregor", "d’Artagnan", "Łukasz", "Жанна"])
def test_a_name_of_any_spelling_finds_what_is_told_of_it(name: str) -> None:
    detail = f"{name} had always kept a secret from the two brothers."
    filler = ["An inn by the sea.", "The cord of the lamp.", f"They spoke of {name} again.", "A spouter of words."]
    assert (
        find_best([*filler, detail], f"The cord hung in the inn. {name.replace('’', chr(39))}'s door was shut.")
        == detail
    )


def test_a_codex_name_of_two_words_is_found_though_the_book_uses_one_of_them_otherwise() -> None:
    coffins = [f"The carpenter made coffin number {number}." for number in range(8)]
    detail = "Peter Coffin had hidden the wages of his brother since the flood."
    assert find_best([*coffins, "Peter slept.", detail], "The landlord counted coffins.", ("Peter Coffin",)) == detail


CHINESE_FILLER = ["子龙勒马而回。", "子龙大喜。", "赵云引兵出城。", "赵云拜谢。", "灯火照着桌上书信。"]
CHINESE_PAGE = Query(parts=(("子龙勒马，看那灯火。", 1.0),), is_page=True)
INTRODUCTION = "那少年姓赵，名云，字子龙。"
CHINESE_DETAIL = "赵云自幼左膝有伤，每逢冷水必痛，从不告诉军中一人。"


def is_detail_found(index: SearchIndex, allowed: NDArray[np.bool_] | None = None) -> bool:
    """Is the detail found, which shares nothing with the page but another name of the same person?"""
    hits = index.search(CHINESE_PAGE, limit=60, allowed=allowed)
    return CHINESE_DETAIL in [index.passages[hit.passage_number].text for hit in hits]


def test_a_name_finds_what_is_told_under_another_name_that_the_book_gives_to_the_same_person() -> None:
    texts = [*CHINESE_FILLER, CHINESE_DETAIL]
    assert is_detail_found(make_index([*texts, INTRODUCTION]))
    assert not is_detail_found(make_index(texts))


def test_an_introduction_that_the_reader_has_not_reached_connects_no_names() -> None:
    texts = [*CHINESE_FILLER, CHINESE_DETAIL, INTRODUCTION]
    index = make_index(texts)
    allowed = np.ones(len(index.passages), np.bool_)
    assert is_detail_found(index, allowed)
    allowed[texts.index(INTRODUCTION)] = False
    assert not is_detail_found(index, allowed)


def test_a_name_that_the_book_gives_to_two_people_connects_neither() -> None:
    second = "又有一人姓钱，名通，字子龙。"
    assert not is_detail_found(make_index([*CHINESE_FILLER, INTRODUCTION, second, CHINESE_DETAIL]))


def test_introductions_are_known_after_an_edit() -> None:
    before = make_index([*CHINESE_FILLER, INTRODUCTION])
    document = before.documents[0]
    added = Passage("search:book#added", CHINESE_DETAIL)
    assert is_detail_found(SearchIndex([SearchDocument(document.id, (*document.passages, added))], before))
    assert is_detail_found(SearchIndex([SearchDocument(document.id, (added, *document.passages))], before))


@pytest.mark.parametrize("page", ["Anna Berta Cara " * 50_000, "王" * 100_000, "Zed" + "-Zed" * 50_000, ""])
def test_a_page_of_any_length_has_a_bounded_number_of_candidates(page: str) -> None:
    assert len(list_candidates(Query(parts=((page, 1.0),), is_page=True))) <= MAX_CANDIDATES
