"""The model at hand, beside what the reference implementation says of the same texts."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.search.embeddings.embedder import WEIGHTS_PACKAGE, load_local_model
from fabula.search.embeddings.encoder_graph import DIMENSION
from fabula.search.embeddings.minilm import MAX_CHARACTERS, MAX_TOKENS, MiniLM

LIGHTHOUSE = "The lighthouse keeper counted the ships and wrote their names in a blue book."
MIXED = "Café naïve façade — Łódź, İstanbul, ΣΊΣΥΦΟΣ; e-mail: foo@bar.com, $5.00 + 3 = 8!"
LONG = "The old man said nothing. " * 80  # more than the model reads
# The first six and the last two numbers by sentence-transformers 5 with torch, from the same weights.
REFERENCE = {
    LIGHTHOUSE: [-0.01423, 0.04911, -0.01175, 0.12248, -0.07569, 0.0266, 0.00037, 0.0358],
    MIXED: [0.03465, 0.06474, 0.05241, 0.05394, -0.03209, -0.03485, -0.06151, -0.04031],
    LONG: [-0.02258, 0.05333, -0.00652, -0.02122, -0.08278, 0.0021, 0.03947, 0.05681],
}


@pytest.fixture(scope="module")
def model() -> MiniLM:
    found = load_local_model()
    assert found is not None, "the weights belong to what `make test` sets up"
    return found


def folder_of_weights() -> Path:
    from importlib.util import find_spec

    spec = find_spec(WEIGHTS_PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model"


def test_its_vectors_are_near_those_of_the_reference_although_weights_are_rounded(model: MiniLM) -> None:
    vectors = model.embed(list(REFERENCE))
    for vector, expected in zip(vectors, REFERENCE.values(), strict=True):
        assert np.allclose([*vector[:6], *vector[-2:]], expected, atol=0.03)


def test_every_vector_has_length_1(model: MiniLM) -> None:
    vectors = model.embed(["", " ", "a", LIGHTHOUSE, LONG, "雾港", "x" * 1000])
    assert vectors.shape == (7, DIMENSION)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_what_means_the_same_is_nearer_than_what_shares_words(model: MiniLM) -> None:
    question, same, other = model.embed(
        ["Who looks after the lamp by the sea?", LIGHTHOUSE, "The lamp on his desk was broken by the cat."]
    )
    assert question @ same > question @ other


def test_a_vector_does_not_depend_on_its_neighbours(model: MiniLM) -> None:
    texts = [f"{LIGHTHOUSE} " * count + "It rained." for count in (3, 1, 7, 1, 20, 0)]
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_what_lies_beyond_its_reading_changes_nothing(model: MiniLM) -> None:
    first, second = model.embed([LONG, LONG + "The end was quite different."])
    assert np.array_equal(first, second)


def test_a_text_alone_always_gives_the_very_same_vector(model: MiniLM) -> None:
    assert np.array_equal(model.embed([MIXED]), model.embed([MIXED]))


def test_no_texts_make_no_vectors(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, DIMENSION)


def test_it_says_what_it_can_read(model: MiniLM) -> None:
    assert model.can_read(LIGHTHOUSE)
    assert model.can_read("“Où est le café ?” — “Là-bas.”")
    assert not model.can_read("林远走进雾港，手里拿着一封信。")
    assert not model.can_read("Князь Андрей вышел из комнаты.")
    assert not model.can_read("")


def tokens(model: MiniLM, text: str) -> list[str]:
    return [str(model._tokenizer.id_to_token(number)) for number in model.tokenise(text)]


def test_a_text_is_cut_into_word_pieces_between_two_marks(model: MiniLM) -> None:
    assert tokens(model, "") == ["[CLS]", "[SEP]"]
    assert tokens(model, "The lighthouses") == ["[CLS]", "the", "lighthouse", "##s", "[SEP]"]
    assert tokens(model, "Café CAFÉ cafe\u0301")[1:-1] == ["cafe"] * 3
    assert tokens(model, "don't.")[1:-1] == ["don", "'", "t", "."]
    assert tokens(model, "the\u2028light\u3000the\tlight\u00a0the")[1:-1] == ["the", "light", "the", "light", "the"]
    assert tokens(model, "the li\x00ght")[1:-1] == ["the", "light"]


def test_a_very_long_word_is_unknown(model: MiniLM) -> None:
    assert tokens(model, "a" * 101)[1:-1] == ["[UNK]"]


def test_a_long_text_is_cut_and_still_ends(model: MiniLM) -> None:
    found = tokens(model, "the " * 1000)
    assert len(found) == MAX_TOKENS
    assert found[-1] == "[SEP]"


def test_of_an_endless_text_only_the_beginning_is_looked_at(model: MiniLM) -> None:
    assert tokens(model, "the" + " " * MAX_CHARACTERS + "light" * 1_000_000)[1:-1] == ["the"]


@given(st.text(st.characters(exclude_categories=()), max_size=400))
@settings(deadline=None)
def test_any_text_gives_tokens_of_the_vocabulary_within_the_limit(model: MiniLM, text: str) -> None:
    numbers = model.tokenise(text)
    assert 2 <= len(numbers) <= MAX_TOKENS
    assert all(0 <= number < model._tokenizer.get_vocab_size() for number in numbers)
    assert numbers == model.tokenise(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tokenizer, and no weights yet."""
    shutil.copy(folder_of_weights() / "tokenizer.json", tmp_path)
    return tmp_path


def write_weights(folder: Path, table: Any, body: bytes = bytes(24), length: int | None = None) -> None:
    """Write a safetensors file: a length, a table of contents and the numbers."""
    written = table if isinstance(table, bytes) else json.dumps(table).encode()
    size = struct.pack("<Q", len(written) if length is None else length)
    (folder / "model.safetensors").write_bytes(size + written + body)


def place(shape: list[int], span: list[int], kind: str = "F32") -> dict[str, Any]:
    return {"embeddings.word_embeddings.weight": {"dtype": kind, "shape": shape, "data_offsets": span}}


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="tokenizer"):
        MiniLM(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="tokenizer"):
        MiniLM(tmp_path)


def test_weights_of_another_model_are_refused(folder: Path) -> None:
    with pytest.raises(OSError, match=r"model\.safetensors"):
        MiniLM(folder)
    write_weights(folder, {}, b"")
    with pytest.raises(ValueError, match="word_embeddings"):
        MiniLM(folder)
    write_weights(folder, place([6], [0, 24]))
    with pytest.raises(ValueError, match="shape"):
        MiniLM(folder)
    write_weights(folder, place([6], [0, 24], "I32"))
    with pytest.raises(ValueError, match="type"):
        MiniLM(folder)


@pytest.mark.parametrize(
    "table",
    [
        place([6], [0, 28]),
        place([7], [0, 24]),
        place([3], [-12, 0]),
        place([-1], [0, 24]),
        place([3], [24, 12]),
        place([2**40, 2**40], [0, 24]),
        b"{ ",
        b"[]",
        b'{"a": 1}',
        b'{"a": {"dtype": "F32"}}',
        b"\xff\xff\xff",
        b"{}}",
    ],
)
def test_a_damaged_table_of_contents_is_refused(folder: Path, table: Any) -> None:
    write_weights(folder, table)
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        MiniLM(folder)


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**63])
def test_a_table_longer_than_the_file_is_refused(folder: Path, length: int) -> None:
    write_weights(folder, {}, length=length)
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        MiniLM(folder)


def test_an_empty_file_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").touch()
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        MiniLM(folder)
