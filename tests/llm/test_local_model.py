"""Prompts for the model on this machine are counted with the vocabulary and the chat template of its own file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.context.render import PromptMessage
from fabula.llm.local_model import GGUF_ENCODING, find_counted_model, load_tokenizer
from fabula.llm.model import ModelCall, StreamEnd
from fabula.llm.providers.local import MODEL_FILE_VARIABLE, LocalProvider, find_model_file
from fabula.text.tokens.gguf import GgufError, GgufVocabulary, read_metadata
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import ByteTokenizer
from tests.text.strings import prose

TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60),
    st.lists(
        st.sampled_from(
            ["却说那孙悟空", "12345", "\n\n", "\n", " ", "don't", "Mara", "—", "😀", "x" * 9, "\t", "/", "/a"]
        ),
        max_size=12,
    ).map("".join),
)
Role = Literal["system", "user", "assistant"]
ROLES: st.SearchStrategy[Role] = st.sampled_from(get_args(Role))


@pytest.fixture(scope="module")
def local() -> LocalProvider:
    return LocalProvider(window=2048)


def read_tokens(provider: LocalProvider, messages: list[PromptMessage]) -> int:
    """How many tokens the model says it read."""

    async def run() -> int:
        call = ModelCall(model="smollm2", messages=tuple(messages), max_tokens=1, temperature=0)
        ends = [event async for event in provider.stream(call) if isinstance(event, StreamEnd)]
        return ends[0].usage.input_tokens

    return asyncio.run(run())


@given(contents=st.lists(st.tuples(ROLES, TEXTS), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_what_the_bundled_model_reads_never_exceeds_what_was_planned(
    contents: list[tuple[Role, str]], local: LocalProvider
) -> None:
    messages = [PromptMessage(role, text) for role, text in contents if text.strip()]
    messages.append(PromptMessage("user", "x"))  # two answers at the end are refused
    model = find_counted_model("smollm2")
    count = load_tokenizer(model).count
    planned = sum(count(one.content) + model.tokens_per_message for one in messages) + model.tokens_per_reply
    read = read_tokens(local, messages)
    assert read <= planned <= read + 60


def test_paragraphs_are_not_counted_too_low_though_line_breaks_before_a_word_are_split() -> None:
    tokenizer = load_tokenizer(find_counted_model("smollm2"))
    lines = "\n\n".join(f"Sailor {number}.\n\nAye! aye! The watch is ours." for number in range(300))
    for text in (lines, *(prose(seed, 12) for seed in range(100))):
        paragraphs = Paragraphs(text)
        whole = text[paragraphs.starts[0] :]
        assert paragraphs.count_tokens(tokenizer, 0, len(paragraphs.starts)) >= tokenizer.count(whole), repr(text)


def test_a_name_of_ones_own_is_counted_with_the_file_too() -> None:
    model = find_counted_model("my-model", window=4096, encoding_name=GGUF_ENCODING)
    assert load_tokenizer(model).name == load_tokenizer(find_counted_model("smollm2")).name
    assert find_counted_model("gpt-4o").encoding == "o200k_base"


def test_a_file_that_cannot_be_read_is_counted_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = find_model_file()
    assert bundled is not None
    for name, data in (
        ("a.gguf", b"GGUF" + b"\xff" * 40),
        ("b.gguf", b"hello"),
        ("c.gguf", bundled.read_bytes()[:5000]),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(GgufError):
            read_metadata(tmp_path / name)
        monkeypatch.setenv(MODEL_FILE_VARIABLE, str(tmp_path / name))
        assert isinstance(load_tokenizer(find_counted_model("smollm2")), ByteTokenizer)


def test_the_chat_template_of_the_file_is_measured() -> None:
    bundled = find_model_file()
    assert bundled is not None
    overhead = GgufVocabulary(bundled).measure_overhead()
    assert 5 <= overhead.per_message <= 7
    assert 15 <= overhead.per_reply <= 30  # the template adds a system message of its own
