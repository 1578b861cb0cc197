"""The terms of a part of a text: the same from the cache as from the part itself."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text import term_cache
from fabula.text.term_cache import MAX_SECTION_CHARACTERS, TermCache
from fabula.text.terms import find_shared_terms, list_shared_terms
from fabula.text.tokens.paragraphs import Paragraphs
from tests.text.strings import hard_strings

PROSE = "\n\n".join(f"Mara's lamps burned in {1900 + year}. “Don’t go,” she said, “not yet.”" for year in range(40))
_WORDS = st.sampled_from(
    ["Mara", "don’t", "İstanbul", "ΟΔΟΣ", "lamps", "the", "灯塔", "x" * 50, "1912", " ", "\n", "'", "—"]
)


@given(st.lists(_WORDS, max_size=60).map("".join), st.integers(0, 300), st.integers(0, 300))
def test_a_part_of_any_text_has_the_terms_of_the_part_alone(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    cache = Paragraphs(text).term_cache
    assert cache.find_between(start, end) == find_shared_terms(text[start:end])


def test_a_part_of_hard_strings_has_the_terms_of_the_part_alone() -> None:
    random = Random(3)
    for text in (PROSE, "", *hard_strings(7, 200)):
        cache = Paragraphs(text).term_cache
        for _ in range(5):
            start, end = sorted((random.randint(0, len(text)), random.randint(0, len(text))))
            assert cache.find_between(start, end) == find_shared_terms(text[start:end])


def test_the_words_of_a_section_are_read_once_for_all_cursors(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def note(text: str) -> list[tuple[int, str]] | None:
        read.append(text)
        return list_shared_terms(text)

    monkeypatch.setattr(term_cache, "list_shared_terms", note)
    cache = Paragraphs(PROSE).term_cache
    for cursor in range(500, len(PROSE), 7):
        cache.find_between(cursor - 500, cursor)
    assert "".join(read) == PROSE


def test_a_very_long_paragraph_is_not_read_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "lamp tower " * MAX_SECTION_CHARACTERS
    monkeypatch.setattr(term_cache, "list_shared_terms", lambda text: pytest.fail("all of it was read"))
    assert TermCache(text, [0]).find_between(5_003, 5_503) == find_shared_terms(text[5_003:5_503])
