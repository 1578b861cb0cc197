"""Counts by paragraph add up, which is what lets the engine look at a window and not at the book."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.text.offsets import normalise
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import load_encoding
from fabula.text.windows import BLOCK_SEPARATOR, make_text_window
from tests.context.strategies import PROJECT, long_texts, plain_count, texts

ADDITIVE = (
    "cl100k_base",
    "o200k_base",
    "llama3",
    "qwen3",
    "deepseek_v3",
    "glm4",
    "kimi_k2",
    "mistral_v3",
    "gemma3",
    "phi4",
)
documents = (texts(6) | long_texts(30) | st.text(st.sampled_from("\n\n /　a林.\t「1\u00a0"), max_size=40)).map(
    normalise
)


@pytest.mark.parametrize("name", ADDITIVE)
def test_counts_by_paragraph_add_up_to_the_count_of_the_whole(name: str) -> None:
    @settings(max_examples=70, deadline=None, derandomize=True, database=None)
    @given(documents)
    def check(text: str) -> None:
        paragraphs = Paragraphs(text)
        whole = plain_count(name, text[paragraphs.starts[0] :])
        assert paragraphs.count_tokens(load_encoding(name), 0, len(paragraphs.starts)) == whole

    check()


@pytest.mark.parametrize("name", ADDITIVE)
def test_a_window_costs_what_its_text_costs_counted_whole(name: str) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    @given(documents, st.data())
    def check(text: str, data: st.DataObject) -> None:
        cursor = data.draw(st.integers(0, len(text)))
        offered = make_text_window(Paragraphs(text), cursor, source="w", project_id=PROJECT, reach=len(text))
        cut = offered.fit(load_encoding(name), data.draw(st.integers(0, 300)))
        if cut is not None and not offered.is_empty:
            shown = offered.text_from(cut.start)
            assert shown == text[cut.start : cursor].rstrip()
            assert cut.tokens == plain_count(name, shown + BLOCK_SEPARATOR)

    check()


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(documents, st.integers(0, 400), st.sampled_from(ADDITIVE), st.data())
def test_reaching_back_finds_what_a_naive_search_finds(text: str, room: int, name: str, data: st.DataObject) -> None:
    paragraphs = Paragraphs(text)
    starts = [*paragraphs.starts, len(text)]
    last = data.draw(st.integers(0, len(paragraphs.starts)))
    costs = [plain_count(name, text[starts[first] : starts[last]]) for first in range(last + 1)]
    naive = next(first for first, cost in enumerate(costs) if cost <= room)
    assert paragraphs.fit_backwards(load_encoding(name), last, room) == (naive, costs[naive])


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.integers(60, 200), st.sampled_from(ADDITIVE), st.data())
def test_searches_agree_across_pages_of_many_paragraphs(many: int, name: str, data: st.DataObject) -> None:
    text = "".join(f"第{at}段，雪还在下。\n" for at in range(many))
    paragraphs = Paragraphs(text)
    assert len(paragraphs.starts) == many
    each = [plain_count(name, text[a:b]) for a, b in pairwise([*paragraphs.starts, len(text)])]
    first = data.draw(st.integers(0, many))
    last = data.draw(st.integers(first, many))
    assert paragraphs.count_tokens(load_encoding(name), first, last) == sum(each[first:last])
    room = data.draw(st.integers(0, sum(each) + 5))
    back = next(at for at in range(last + 1) if sum(each[at:last]) <= room)
    assert paragraphs.fit_backwards(load_encoding(name), last, room) == (back, sum(each[back:last]))
