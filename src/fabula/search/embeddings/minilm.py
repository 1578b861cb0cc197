"""The sentence embedding model all-MiniLM-L6-v2 (English), computed with ONNX Runtime.

The model is a BERT encoder of six layers that turns a text into 384 numbers. `tokenizers` cuts the text into word
pieces and `safetensors` reads the weights, from which `encoder_graph.py` makes a graph for ONNX Runtime. Each text is
computed by itself, without padding, so a vector does not depend on other texts; two threads share the texts of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.search.embeddings.encoder_graph import DIMENSION, ReadWeights, build_encoder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2 int8"
THREADS = 2  # that share the texts of a batch
POSITIONS = 512  # tokens the model was trained for,
MAX_TOKENS = 256  # and tokens of a text that are used, the start and end marks included
MAX_CHARACTERS = 32_768  # of a text are tokenised: far more than MAX_TOKENS can hold
_NON_LATIN = 1.5  # bytes a character: Latin script has fewer, every other script has more
_ONLY_FATAL = 4  # what ONNX Runtime logs

Array = NDArray[np.float32]


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
            self._encoder = _start_session(build_encoder(read))

    def can_read(self, text: str) -> bool:
        """The model knows English; for a text in another script its vectors would be noise."""
        return len(text.encode(errors="replace")) < _NON_LATIN * len(text)

    def embed(self, texts: Sequence[str]) -> Array:
        """One row a text, of length 1."""
        # Never in the thread of the caller: ONNX Runtime aborts the process where the interpreter ends while a daemon
        # thread computes, but it waits for the threads of an executor.
        with ThreadPoolExecutor(THREADS, "search-vectors") as threads:
            try:
                vectors = threads.map(self._embed_text, texts)
            except RuntimeError as error:  # the interpreter is ending and starts no more threads
                raise FabulaError(Code.EMBEDDING_UNAVAILABLE, message("The program is ending.")) from error
        return np.array([*vectors], np.float32).reshape(len(texts), DIMENSION)

    def tokenise(self, text: str) -> list[int]:
        """The token ids of a text between the start and end marks, `MAX_TOKENS` in all."""
        return self._tokenizer.encode(text[:MAX_CHARACTERS].encode(errors="replace").decode()).ids

    def _embed_text(self, text: str) -> Array:
        token_ids = self.tokenise(text)
        rows = self._word_rows[token_ids] + self._position_rows[: len(token_ids)]
        total: Array = self._encoder.run(None, {"rows": rows[None]})[0][0].sum(axis=0)
        total /= np.sqrt(total @ total)
        return total


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


def _start_session(graph: bytes) -> Any:
    """A session of ONNX Runtime that computes in the thread that calls it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ONLY_FATAL
    # Further optimisation would join each addition with the normalisation after it, and that is slower.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
