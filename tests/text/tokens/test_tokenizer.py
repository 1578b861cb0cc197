"""Counts are exact, offline, and never make a control token out of what a writer typed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Protocol

import pytest

from fabula.text.tokens import tokenizer as tokens
from fabula.text.tokens.models import MODEL_FAMILIES, find_model
from fabula.text.tokens.tokenizer import (
    ByteTokenizer,
    Encoding,
    GuardedTokenizer,
    ScaledTokenizer,
    TokenizerError,
    load_encoding,
)
from tests.text.strings import CODE, ENGLISH, SPECIAL, hard_strings

STRINGS = tuple(hard_strings(20260, 3000))


class Independent(Protocol):
    """What we ask of an implementation that shares no code with ours."""

    def encode_ordinary(self, text: str) -> list[int]: ...


@cache
def independent(name: str) -> Independent:
    """`bpe-openai`, which ships its ranks; it has no types, and warns of its own age when imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found: Independent = import_module("bpe_openai").get_encoding(name)
        return found


REAL = ("o200k_base", "cl100k_base", "llama3", "qwen3", "llama2", "gemma3")


# The figures of OpenAI's own cookbook.
@pytest.mark.parametrize(
    ("model", "text", "count"),
    [
        ("gpt-4", "antidisestablishmentarianism", 6),
        ("gpt-4o", "antidisestablishmentarianism", 6),
        ("gpt-4", "2 + 2 = 4", 7),
        ("gpt-4o", "2 + 2 = 4", 7),
        ("gpt-4", "お誕生日おめでとう", 9),
        ("gpt-4o", "お誕生日おめでとう", 8),
        ("gpt-3.5-turbo", "tiktoken is great!", 6),
    ],
)
def test_a_model_counts_with_its_own_vocabulary(model: str, text: str, count: int) -> None:
    tokenizer = find_model(model).tokenizer()
    assert tokenizer.count(text) == count
    assert tokenizer.exact


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_counts_are_those_of_an_independent_implementation(name: str) -> None:
    ours, theirs = load_encoding(name), independent(name)
    wrong = [text for text in STRINGS if ours.count(text) != len(theirs.encode_ordinary(text))]
    assert wrong == []


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_long_texts_are_counted_like_short_ones(name: str) -> None:
    text = "\n\n".join(STRINGS[:1500])
    assert load_encoding(name).count(text) == len(independent(name).encode_ordinary(text))


@pytest.mark.parametrize("name", sorted({model.encoding for model in MODEL_FAMILIES}))
def test_nothing_is_no_tokens_and_something_is_at_least_one(name: str) -> None:
    tokenizer = load_encoding(name)
    assert tokenizer.count("") == 0
    assert all(tokenizer.count(text) >= 1 for text in (" ", "\n", "a", "林", "\x00", "😀"))


@pytest.mark.parametrize("spelling", SPECIAL)
@pytest.mark.parametrize("name", sorted({model.encoding for model in MODEL_FAMILIES}))
def test_a_special_token_that_a_writer_spells_out_is_ordinary_text(name: str, spelling: str) -> None:
    tokenizer = load_encoding(name)
    assert tokenizer.count(spelling) > 1
    assert tokenizer.count(f"She typed {spelling} and waited.") > tokenizer.count("She typed and waited.") + 1


@pytest.mark.parametrize("factor", [1.05, 1.1, 1.35, 2.0])
def test_a_stand_in_for_an_unpublished_vocabulary_counts_more_and_says_so(factor: float) -> None:
    under = load_encoding("o200k_base")
    scaled = ScaledTokenizer(under, factor)
    assert not scaled.exact
    assert under.name in scaled.name
    for text in STRINGS[:500]:
        assert scaled.count(text) >= under.count(text) * factor


@pytest.mark.parametrize("model", ["claude-sonnet-4", "gemini-2.5-pro"])
def test_vendors_without_a_published_vocabulary_are_over_counted(model: str) -> None:
    found = find_model(model)
    assert not found.is_exact
    assert not found.tokenizer().exact
    assert found.tokenizer().count("The lamp went out.") > load_encoding(found.encoding).count("The lamp went out.")


@pytest.mark.parametrize("name", REAL)
def test_the_cautious_count_is_never_below_a_real_one(name: str) -> None:
    cautious, real = ByteTokenizer(), load_encoding(name)
    under = [text for text in STRINGS if cautious.count(text) < real.count(text)]
    assert under == []


@pytest.mark.parametrize("name", REAL)
def test_the_cautious_count_is_never_below_a_real_one_for_names_and_numbers_of_code(name: str) -> None:
    cautious, real = ByteTokenizer(), load_encoding(name)
    texts = [" ".join(CODE), " ".join(ENGLISH), "xq7Zk9fJ2mVbT4", "sha256:9f86d081884c7d659a2feaa0c55ad015", "zxcvbnm"]
    assert [text for text in texts if cautious.count(text) < real.count(text)] == []


def test_the_cautious_count_of_a_text_is_not_below_that_of_its_parts() -> None:
    cautious = ByteTokenizer()
    for text in STRINGS[:500]:
        assert cautious.count(text + "\n\n") >= cautious.count(text)


def test_the_cautious_count_takes_half_characters() -> None:
    assert ByteTokenizer().count("a\ud800b") >= 2


def test_counts_are_the_same_before_and_after_forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "CACHED_CHARACTERS", 2000)
    tokenizer = Encoding("cl100k_base")
    first = [tokenizer.count(text) for text in STRINGS[:500]]
    again = [tokenizer.count(text) for text in STRINGS[:500]]
    tokenizer.clear_cache()
    assert first == again == [tokenizer.count(text) for text in STRINGS[:500]]


def test_a_text_that_cannot_be_encoded_is_one_kind_of_failure() -> None:
    with pytest.raises(TokenizerError, match="cl100k_base"):
        load_encoding("cl100k_base").count("\ud800")


class _Strange:
    """A tokenizer nobody here wrote."""

    name = "strange"
    exact = True
    additive = True

    def __init__(self, answer: Callable[[str], int]) -> None:
        self.count = answer


def test_a_foreign_tokenizer_that_raises_or_answers_rubbish_is_one_kind_of_failure() -> None:
    with pytest.raises(TokenizerError, match="strange"):
        GuardedTokenizer(_Strange(lambda text: 1 // 0)).count("a")
    with pytest.raises(TokenizerError, match="strange"):
        GuardedTokenizer(_Strange(lambda text: -1)).count("a")
    assert GuardedTokenizer(_Strange(len)).count("abc") == 3
