"""The sentence embedding model all-MiniLM-L6-v2 (English), computed with numpy.

The model is a BERT encoder of six layers that turns a text into 384 numbers. `tokenizers` cuts the text into word
pieces and `safetensors` reads the weights. Texts of a batch are sorted by length and laid one after the other in a
single matrix, without padding: everything but attention works on single rows, and attention is computed for all
texts of one length together. So a vector does not depend on its neighbours, beyond the last bits of rounding.
One thread does the work, in slices of a few rows where that keeps the numbers in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.search.embeddings.blas_threads import single_blas_thread

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2"
DIMENSION = 384
INTERMEDIATE = 1536  # columns between the two matrices of a feed-forward block
POSITIONS = 512  # tokens the model was trained for,
MAX_TOKENS = 256  # and tokens of a text that are used, the start and end marks included
LAYERS, HEADS = 6, 12
BATCH_TOKENS = 2048  # worked on at once
MAX_CHARACTERS = 32_768  # of a text are tokenised: far more than MAX_TOKENS can hold
_NON_LATIN = 1.5  # bytes a character: Latin script has fewer, every other script has more
_EPSILON = 1e-12
_SLICE = 48  # rows
_GELU_LIMIT = np.float32(9)
# The share of a normal distribution below x is 1 / (1 + exp(x · (a + b·x² + c·x⁴))) with these fitted numbers.
_GELU_FIT = np.array([-1.595015784, -0.0740112802, 0.000703034012], np.float32)

Array = NDArray[np.float32]
LengthGroup = tuple[slice, int]  # the rows of texts of one length, and how many rows a text has
ReadWeights = Callable[..., Array]  # (name, *shape): the array of that name, checked to have that shape


class MiniLM:
    """The model, loaded from a folder with `model.safetensors` and `tokenizer.json`."""

    name = NAME
    dimension = DIMENSION
    is_local = True

    def __init__(self, folder: Path) -> None:
        """Raises OSError or ValueError where the folder holds something else, ImportError without the libraries."""
        self._tokenizer = _load_tokenizer(folder / "tokenizer.json")
        with _open_weights(folder / "model.safetensors") as read:
            vocabulary = self._tokenizer.get_vocab_size()
            self._word_rows = read("embeddings.word_embeddings.weight", vocabulary, DIMENSION)
            segments = read("embeddings.token_type_embeddings.weight", 2, DIMENSION)
            self._position_rows = read("embeddings.position_embeddings.weight", POSITIONS, DIMENSION) + segments[0]
            self._norm = _Norm.load(read, "embeddings.LayerNorm")
            self._layers = [_Layer.load(read, f"encoder.layer.{number}") for number in range(LAYERS)]

    def can_read(self, text: str) -> bool:
        """The model knows English; for a text in another script its vectors would be noise."""
        return len(text.encode(errors="replace")) < _NON_LATIN * len(text)

    def embed(self, texts: Sequence[str]) -> Array:
        """One row a text, of length 1."""
        token_ids = [self.tokenise(text) for text in texts]
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        with single_blas_thread():
            for batch in _make_batches(token_ids):
                vectors[batch] = self._encode([token_ids[at] for at in batch])
        return vectors

    def tokenise(self, text: str) -> list[int]:
        """The token ids of a text between the start and end marks, `MAX_TOKENS` in all."""
        return self._tokenizer.encode(text[:MAX_CHARACTERS].encode(errors="replace").decode()).ids

    def _encode(self, token_ids: Sequence[Sequence[int]]) -> Array:
        """The vectors of texts that are sorted by length."""
        lengths = np.array([len(ids) for ids in token_ids])
        starts = np.cumsum(lengths) - lengths
        flat = np.concatenate([np.asarray(ids) for ids in token_ids])
        rows: Array = self._word_rows[flat]
        rows += self._position_rows[np.arange(flat.size) - np.repeat(starts, lengths)]
        self._norm.apply(rows)
        groups = _group_by_length(lengths)
        for layer in self._layers:
            layer.apply(rows, groups)
        means: Array = np.add.reduceat(rows, starts, axis=0)
        means /= np.sqrt(np.einsum("ij,ij->i", means, means))[:, None]
        return means


def _load_tokenizer(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    text = file.read_text("utf-8")
    try:
        tokenizer: Tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(f"{file.name} is no tokenizer: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


@contextmanager
def _open_weights(file: Path) -> Iterator[ReadWeights]:
    """A function that reads one array at a time; ValueError where an array is missing or has another shape."""
    from safetensors import SafetensorError, safe_open

    def read(name: str, *shape: int) -> Array:
        array: Array = weights.get_tensor(name)
        if array.shape != shape or array.dtype != np.float32:
            raise ValueError(f"{name} has the shape {array.shape} and type {array.dtype}, not {shape} and float32")
        return array

    try:
        with safe_open(file, framework="numpy") as weights:
            yield read
    except SafetensorError as error:
        raise ValueError(f"{file.name} cannot be read: {error}") from error


class _Norm(Struct, frozen=True):
    """Layer normalisation: brings each row to mean 0 and variance 1, then scales it as trained."""

    weight: Array
    bias: Array

    @classmethod
    def load(cls, read: ReadWeights, name: str) -> _Norm:
        return cls(read(f"{name}.weight", DIMENSION), read(f"{name}.bias", DIMENSION))

    def apply(self, rows: Array) -> None:
        for at in range(0, len(rows), _SLICE):
            part = rows[at : at + _SLICE]
            part -= part.mean(axis=1, keepdims=True)
            variance = np.einsum("ij,ij->i", part, part) / part.shape[1]
            part *= (1 / np.sqrt(variance + _EPSILON))[:, None]
            part *= self.weight
            part += self.bias


class _Linear(Struct, frozen=True):
    """A linear layer: rows times a matrix, plus a bias."""

    weight: Array
    bias: Array

    @classmethod
    def load(cls, read: ReadWeights, name: str, outputs: int = DIMENSION, inputs: int = DIMENSION) -> _Linear:
        return cls(read(f"{name}.weight", outputs, inputs), read(f"{name}.bias", outputs))

    def apply(self, rows: Array) -> Array:
        product: Array = rows @ self.weight.T
        product += self.bias
        return product


class _Layer(Struct, frozen=True):
    """One layer of the encoder; the query, key and value matrices are joined into one."""

    query_key_value: _Linear
    attention_output: _Linear
    attention_norm: _Norm
    intermediate: _Linear
    output: _Linear
    output_norm: _Norm

    @classmethod
    def load(cls, read: ReadWeights, name: str) -> _Layer:
        query, key, value = (_Linear.load(read, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        scale = np.float32((DIMENSION // HEADS) ** -0.5)
        return cls(
            _Linear(
                np.concatenate([query.weight * scale, key.weight, value.weight]),
                np.concatenate([query.bias * scale, key.bias, value.bias]),
            ),
            _Linear.load(read, f"{name}.attention.output.dense"),
            _Norm.load(read, f"{name}.attention.output.LayerNorm"),
            _Linear.load(read, f"{name}.intermediate.dense", outputs=INTERMEDIATE),
            _Linear.load(read, f"{name}.output.dense", inputs=INTERMEDIATE),
            _Norm.load(read, f"{name}.output.LayerNorm"),
        )

    def apply(self, rows: Array, groups: Sequence[LengthGroup]) -> None:
        """Changes the rows in place."""
        projected = self.query_key_value.apply(rows)
        attended = np.empty_like(rows)
        for rows_of_group, length in groups:
            _attend(projected[rows_of_group], attended[rows_of_group], length)
        rows += self.attention_output.apply(attended)
        self.attention_norm.apply(rows)
        hidden = self.intermediate.apply(rows)
        _gelu(hidden)
        rows += self.output.apply(hidden)
        self.output_norm.apply(rows)


def _attend(projected: Array, attended: Array, length: int) -> None:
    """Self-attention: every token attends to all tokens of its own text."""
    query, key, value = projected.reshape(-1, length, 3, HEADS, DIMENSION // HEADS).transpose(2, 0, 3, 1, 4)
    weights = query @ key.swapaxes(2, 3)
    weights -= weights.max(axis=3, keepdims=True)
    np.exp(weights, out=weights)
    mixed = weights @ value
    mixed /= weights.sum(axis=3, keepdims=True)
    attended.reshape(-1, length, HEADS, DIMENSION // HEADS)[...] = mixed.transpose(0, 2, 1, 3)


def _gelu(rows: Array) -> None:
    """In place: x times the share of a normal distribution that lies below x, off by 0.00003 at most."""
    clipped, square, factor = np.empty((3, _SLICE, rows.shape[1]), np.float32)
    for at in range(0, len(rows), _SLICE):
        part = rows[at : at + _SLICE]
        if len(part) < _SLICE:
            clipped, square, factor = clipped[: len(part)], square[: len(part)], factor[: len(part)]
        np.clip(part, -_GELU_LIMIT, _GELU_LIMIT, out=clipped)
        np.multiply(clipped, clipped, out=square)
        np.multiply(square, _GELU_FIT[2], out=factor)
        factor += _GELU_FIT[1]
        factor *= square
        factor += _GELU_FIT[0]
        factor *= clipped
        np.exp(factor, out=factor)
        factor += 1
        part /= factor


def _make_batches(token_ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Numbers of texts that are encoded together: the shortest first, up to `BATCH_TOKENS` a batch."""
    batch: list[int] = []
    size = 0
    for at in sorted(range(len(token_ids)), key=lambda at: len(token_ids[at])):
        if batch and size + len(token_ids[at]) > BATCH_TOKENS:
            yield batch
            batch, size = [], 0
        batch.append(at)
        size += len(token_ids[at])
    if batch:
        yield batch


def _group_by_length(lengths: NDArray[np.int_]) -> list[LengthGroup]:
    sizes, counts = np.unique(lengths, return_counts=True)
    bounds = [0, *np.cumsum(sizes * counts).tolist()]
    return [(slice(*bound), size) for bound, size in zip(pairwise(bounds), sizes.tolist(), strict=True)]
