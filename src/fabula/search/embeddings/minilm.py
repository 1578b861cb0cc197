"""MiniLM: sentences as 384 numbers, computed here with nothing but numpy.

A BERT encoder of six layers, as published (all-MiniLM-L6-v2, English). Texts of a batch are sorted by length and
laid one after the other in a single matrix, without padding: everything but attention works on rows alone, and
attention is done for all texts of one length together. So a vector does not depend on its neighbours, beyond the
last bits of rounding. One thread does it all, in slices of a few rows where that keeps numbers in
the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.search.embeddings.blas_threads import one_thread
from fabula.search.embeddings.weights import Array, read
from fabula.search.embeddings.wordpiece import WordPieces

NAME = "all-MiniLM-L6-v2"
DIMENSION = 384
WIDE = 1536
PLACES = 512  # it was trained for, of which
PIECES = 256  # are used: word pieces of a text that are read, the marks of beginning and end included
LAYERS, HEADS = 6, 12
BATCH = 2048  # word pieces worked on at once
_FOREIGN = 1.5  # bytes a character: less in Latin script, more in any other
_TINY = 1e-12
_SLICE = 48  # rows
_FAR = np.float32(9)
# Fitted: the share of a normal distribution below x is 1 / (1 + exp(x · (a + b·x² + c·x⁴))) with these three.
_BELOW = np.array([-1.595015784, -0.0740112802, 0.000703034012], np.float32)


class MiniLM:
    """The model, from a folder that holds `model.safetensors` and `vocab.txt`."""

    name = NAME
    dimension = DIMENSION
    local = True

    def __init__(self, folder: Path) -> None:
        """OSError, KeyError or ValueError where the folder holds something else."""
        vocabulary = (folder / "vocab.txt").read_text("utf-8").splitlines()
        self._pieces = WordPieces(vocabulary)
        take = _Take(read(folder / "model.safetensors"))
        self._words = take("embeddings.word_embeddings.weight", len(vocabulary), DIMENSION)
        kinds = take("embeddings.token_type_embeddings.weight", 2, DIMENSION)
        self._places = take("embeddings.position_embeddings.weight", PLACES, DIMENSION) + kinds[0]
        self._norm = _Norm.of(take, "embeddings.LayerNorm")
        self._layers = [_Layer.of(take, f"encoder.layer.{at}") for at in range(LAYERS)]

    def reads(self, text: str) -> bool:
        """It has learnt English; of a text in another script it would make noise."""
        return len(text.encode(errors="replace")) < _FOREIGN * len(text)

    def embed(self, texts: Sequence[str]) -> Array:
        """One row a text, of length 1."""
        numbers = [self._pieces.numbers(text, PIECES) for text in texts]
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        with one_thread():
            for batch in _batches(numbers):
                vectors[batch] = self._encode([numbers[at] for at in batch])
        return vectors

    def _encode(self, numbers: Sequence[Sequence[int]]) -> Array:
        """Texts, shortest first, as vectors."""
        lengths = np.array([len(one) for one in numbers])
        starts = np.cumsum(lengths) - lengths
        flat = np.concatenate([np.asarray(one) for one in numbers])
        rows: Array = self._words[flat]
        rows += self._places[np.arange(flat.size) - np.repeat(starts, lengths)]
        self._norm.apply(rows)
        runs = _runs(lengths)
        for layer in self._layers:
            layer.apply(rows, runs)
        means: Array = np.add.reduceat(rows, starts, axis=0)
        means /= np.sqrt(np.einsum("ij,ij->i", means, means))[:, None]
        return means


class _Run(Struct, frozen=True):
    """Texts of one length that follow one another: the rows from `start` to `end`, `length` a text."""

    start: int
    end: int
    length: int


class _Take(Struct, frozen=True):
    """Hands out weights by name, where they have the shape they should; KeyError or ValueError otherwise."""

    arrays: Mapping[str, Array]

    def __call__(self, name: str, *shape: int) -> Array:
        found = self.arrays[name]
        if found.shape != shape:
            raise ValueError(f"{name} has the shape {found.shape}, not {shape}")
        return found


class _Norm(Struct, frozen=True):
    """Brings each row to mean 0 and variance 1, then to the weights it was trained with."""

    weight: Array
    bias: Array

    @classmethod
    def of(cls, take: _Take, name: str) -> _Norm:
        return cls(take(f"{name}.weight", DIMENSION), take(f"{name}.bias", DIMENSION))

    def apply(self, rows: Array) -> None:
        for at in range(0, len(rows), _SLICE):
            some = rows[at : at + _SLICE]
            some -= some.mean(axis=1, keepdims=True)
            spread = np.einsum("ij,ij->i", some, some) / some.shape[1]
            some *= (1 / np.sqrt(spread + _TINY))[:, None]
            some *= self.weight
            some += self.bias


class _Dense(Struct, frozen=True):
    """Rows times a matrix, plus a bias."""

    weight: Array
    bias: Array

    @classmethod
    def of(cls, take: _Take, name: str, made: int = DIMENSION, of: int = DIMENSION) -> _Dense:
        return cls(take(f"{name}.weight", made, of), take(f"{name}.bias", made))

    def apply(self, rows: Array) -> Array:
        made: Array = rows @ self.weight.T
        made += self.bias
        return made


class _Layer(Struct, frozen=True):
    """One layer of the encoder; its three first matrices stand together as one."""

    attend: _Dense  # what each piece asks for, offers and holds, side by side
    joined: _Dense
    after_attention: _Norm
    wide: _Dense
    narrow: _Dense
    after_all: _Norm

    @classmethod
    def of(cls, take: _Take, name: str) -> _Layer:
        asks, offers, holds = (_Dense.of(take, f"{name}.attention.self.{one}") for one in ("query", "key", "value"))
        share = np.float32((DIMENSION // HEADS) ** -0.5)
        return cls(
            _Dense(
                np.concatenate([asks.weight * share, offers.weight, holds.weight]),
                np.concatenate([asks.bias * share, offers.bias, holds.bias]),
            ),
            _Dense.of(take, f"{name}.attention.output.dense"),
            _Norm.of(take, f"{name}.attention.output.LayerNorm"),
            _Dense.of(take, f"{name}.intermediate.dense", made=WIDE),
            _Dense.of(take, f"{name}.output.dense", of=WIDE),
            _Norm.of(take, f"{name}.output.LayerNorm"),
        )

    def apply(self, rows: Array, runs: Sequence[_Run]) -> None:
        """Changes the rows in place."""
        heads = self.attend.apply(rows)
        seen = np.empty_like(rows)
        for run in runs:
            _attend(heads[run.start : run.end], seen[run.start : run.end], run.length)
        rows += self.joined.apply(seen)
        self.after_attention.apply(rows)
        wide = self.wide.apply(rows)
        _gelu(wide)
        rows += self.narrow.apply(wide)
        self.after_all.apply(rows)


def _attend(heads: Array, seen: Array, length: int) -> None:
    """Every piece looks at all pieces of its own text."""
    asks, offers, holds = heads.reshape(-1, length, 3, HEADS, DIMENSION // HEADS).transpose(2, 0, 3, 1, 4)
    looks = asks @ offers.swapaxes(2, 3)
    looks -= looks.max(axis=3, keepdims=True)
    np.exp(looks, out=looks)
    found = looks @ holds
    found /= looks.sum(axis=3, keepdims=True)
    seen.reshape(-1, length, HEADS, DIMENSION // HEADS)[...] = found.transpose(0, 2, 1, 3)


def _gelu(rows: Array) -> None:
    """In place: x times the share of a normal distribution that lies below x, off by 0.00003 at most."""
    near, square, made = np.empty((3, _SLICE, rows.shape[1]), np.float32)
    for at in range(0, len(rows), _SLICE):
        some = rows[at : at + _SLICE]
        if len(some) < _SLICE:
            near, square, made = near[: len(some)], square[: len(some)], made[: len(some)]
        np.clip(some, -_FAR, _FAR, out=near)
        np.multiply(near, near, out=square)
        np.multiply(square, _BELOW[2], out=made)
        made += _BELOW[1]
        made *= square
        made += _BELOW[0]
        made *= near
        np.exp(made, out=made)
        made += 1
        some /= made


def _batches(numbers: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Which texts go together: the shortest first, so many pieces in all."""
    batch: list[int] = []
    size = 0
    for at in sorted(range(len(numbers)), key=lambda at: len(numbers[at])):
        if batch and size + len(numbers[at]) > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(at)
        size += len(numbers[at])
    if batch:
        yield batch


def _runs(lengths: NDArray[np.int_]) -> list[_Run]:
    found: list[_Run] = []
    start = 0
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        found.append(_Run(start, start + int(length * count), int(length)))
        start = found[-1].end
    return found
