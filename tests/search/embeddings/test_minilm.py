"""The model at hand, beside what the reference implementation says of the same texts."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from fabula.search.embeddings.dense import PACKAGE, local
from fabula.search.embeddings.minilm import DIMENSION, MiniLM

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
    found = local()
    assert found is not None, "the weights belong to what `make test` sets up"
    return found


def folder_of_weights() -> Path:
    from importlib.util import find_spec

    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model"


def test_its_vectors_are_those_of_the_reference(model: MiniLM) -> None:
    vectors = model.embed(list(REFERENCE))
    for vector, expected in zip(vectors, REFERENCE.values(), strict=True):
        assert np.allclose([*vector[:6], *vector[-2:]], expected, atol=5e-5)


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
    assert np.allclose(together, alone, atol=1e-5)


def test_what_lies_beyond_its_reading_changes_nothing(model: MiniLM) -> None:
    first, second = model.embed([LONG, LONG + "The end was quite different."])
    assert np.allclose(first, second, atol=1e-6)


def test_a_text_alone_always_gives_the_very_same_vector(model: MiniLM) -> None:
    assert np.array_equal(model.embed([MIXED]), model.embed([MIXED]))


def test_no_texts_make_no_vectors(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, DIMENSION)


def test_it_says_what_it_can_read(model: MiniLM) -> None:
    assert model.reads(LIGHTHOUSE)
    assert model.reads("“Où est le café ?” — “Là-bas.”")
    assert not model.reads("林远走进雾港，手里拿着一封信。")
    assert not model.reads("Князь Андрей вышел из комнаты.")
    assert not model.reads("")


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="vocab"):
        MiniLM(tmp_path)
    shutil.copy(folder_of_weights() / "vocab.txt", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(KeyError):
        MiniLM(tmp_path)
    shutil.copy(folder_of_weights() / "model.safetensors", tmp_path)
    with (tmp_path / "vocab.txt").open("a") as file:
        file.write("one word more\n")
    with pytest.raises(ValueError, match="shape"):
        MiniLM(tmp_path)
