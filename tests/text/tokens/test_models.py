"""Models are found by family; an unknown one is refused with the nearest names."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.text.tokens.models import MODEL_FAMILIES, find_model


@pytest.mark.parametrize("name", [family.name for family in MODEL_FAMILIES])
def test_every_family_is_found_by_its_own_name_and_can_count(name: str) -> None:
    model = find_model(name)
    assert model.name == name
    assert model.window >= 2048
    assert model.tokenizer().count("The lamp went out. 灯灭了。") > 5


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4o-mini", "gpt-4o"),
        ("gpt-4-turbo-2024-04-09", "gpt-4-turbo"),
        ("gpt-4-32k-0613", "gpt-4-32k"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4.1-nano", "gpt-4.1"),
        ("llama-3.3-70b-instruct", "llama-3.3"),
        ("llama-3-8b", "llama-3"),
        ("qwen2.5-72b-instruct", "qwen2.5"),
        ("mistral-nemo-instruct", "mistral-nemo"),
        ("mistral-large-latest", "mistral"),
    ],
)
def test_the_longest_known_beginning_wins(name: str, family: str) -> None:
    found, expected = find_model(name), find_model(family)
    assert found.name == name
    assert (found.window, found.encoding, found.factor) == (expected.window, expected.encoding, expected.factor)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai/gpt-4o", "gpt-4o"),
        ("anthropic/claude-sonnet-4", "claude"),
        ("google/gemini-2.5-pro", "gemini"),
        ("deepseek/deepseek-chat", "deepseek"),
        ("openrouter/openai/gpt-4.1-mini", "gpt-4.1"),
        ("Qwen/Qwen3-32B", "qwen3"),
        ("GPT-4O", "gpt-4o"),
    ],
)
def test_a_vendor_in_front_of_the_name_and_its_case_do_not_matter(name: str, family: str) -> None:
    found, expected = find_model(name), find_model(family)
    assert (found.window, found.encoding) == (expected.window, expected.encoding)


@pytest.mark.parametrize(
    ("name", "nearest"), [("gtp-4o", "gpt-4o"), ("lama-3.1", "llama-3.1"), ("vendor/mistrl", "mistral")]
)
def test_an_unknown_model_is_refused_with_the_nearest_names(name: str, nearest: str) -> None:
    with pytest.raises(FabulaError) as caught:
        find_model(name)
    assert caught.value.code is Code.MODEL_UNKNOWN
    assert name in caught.value.sentence
    assert nearest in caught.value.sentence
    names = caught.value.details["nearest"]
    assert isinstance(names, list)
    assert nearest in names


@pytest.mark.parametrize("name", ["", "zzzzzzzz", "/", "全新模型"])
def test_a_name_like_no_other_is_refused_with_the_known_families(name: str) -> None:
    with pytest.raises(FabulaError, match="gpt-4o") as caught:
        find_model(name)
    assert caught.value.code is Code.MODEL_UNKNOWN


@pytest.mark.parametrize("name", ["qwen3.5", "qwen3.5-32b", "Qwen/Qwen3.6-Max", "qwen3.5:latest"])
def test_a_newer_release_with_another_vocabulary_is_not_taken_for_the_older(name: str) -> None:
    with pytest.raises(FabulaError) as caught:
        find_model(name)
    assert caught.value.code is Code.MODEL_UNKNOWN


def test_gpt_4_5_is_not_counted_with_the_vocabulary_of_gpt_4() -> None:
    """It was made with o200k_base: either it is known as that, or it is unknown."""
    with suppress(FabulaError):
        assert find_model("gpt-4.5-preview").encoding == "o200k_base"


def test_with_a_window_and_an_encoding_any_name_will_do() -> None:
    model = find_model("my-own-finetune", window=12_000, encoding_name="llama3")
    assert (model.name, model.window, model.encoding, model.is_exact) == ("my-own-finetune", 12_000, "llama3", True)
    assert find_model("qwen3.5", window=12_000, encoding_name="qwen3").window == 12_000


@pytest.mark.parametrize(("window", "encoding_name"), [(12_000, None), (None, "llama3")])
def test_a_window_or_an_encoding_alone_does_not_make_an_unknown_model_known(
    window: int | None, encoding_name: str | None
) -> None:
    with pytest.raises(FabulaError) as caught:
        find_model("my-own-finetune", window=window, encoding_name=encoding_name)
    assert caught.value.code is Code.MODEL_UNKNOWN


def test_what_is_given_with_the_request_outranks_the_table() -> None:
    assert find_model("gpt-4o", window=8_192).window == 8_192
    assert find_model("gpt-4o", window=8_192).encoding == "o200k_base"
    given = find_model("claude-sonnet-4", encoding_name="cl100k_base")
    assert given.encoding == "cl100k_base"
    assert given.is_exact
