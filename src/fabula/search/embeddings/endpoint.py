"""An embedder that uses a server with OpenAI's `/v1/embeddings`.

The server is not trusted: its address is checked before anything is sent, redirects are not followed, an answer has
limits of time and size, and its vectors are counted, ordered, checked and normalised here. A proxy of the machine is
used. Every failure is EMBEDDING_UNAVAILABLE, and its sentence contains neither text nor key.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.core.messages import Sentence, message
from fabula.net.addresses import find_url_problem
from fabula.net.errors import AddressRefusedError, AnswerRefusedError, ProxyRefusedError
from fabula.search.embeddings.embedder import unavailable

TIMEOUT = 10.0  # seconds for one request, from first to last byte
TEXTS_PER_REQUEST = 32
MAX_CHARACTERS = 2000  # of a text that are sent
MAX_ANSWER_BYTES = 32_000_000
MAX_DIMENSIONS = 16_384

Vectors = NDArray[np.float32]


class _EmbeddingRow(Struct):
    embedding: list[float]
    index: int


class _EmbeddingAnswer(Struct):
    data: list[_EmbeddingRow]


class EmbeddingEndpoint:
    """An embeddings server; all its vectors must have the dimension of the first one."""

    is_local = False

    def __init__(
        self, url: str, model: str, *, key: str = "", allow_link_local: bool = False, seconds: float = TIMEOUT
    ) -> None:
        """`url` is the base URL of the API, mostly ending in `/v1`."""
        self._url = _parse_url(url)
        self._host = self._url.hostname or ""
        self._model = model
        self._key = key
        self._allow_link_local = allow_link_local
        self._seconds = seconds
        self._dimension = 0
        self.name = f"{model}@{self._url.netloc}{self._url.path}"

    def can_read(self, text: str) -> bool:
        """True: whoever chose the server knows which languages it reads."""
        return True

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 for each text."""
        size = TEXTS_PER_REQUEST
        parts = [self._embed_batch(texts[at : at + size]) for at in range(0, len(texts), size)]
        return np.concatenate(parts) if parts else np.zeros((0, self._dimension), np.float32)

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        sent = [text[:MAX_CHARACTERS].encode(errors="replace").decode().strip() or "." for text in texts]
        body = self._post(msgspec.json.encode({"model": self._model, "input": sent, "encoding_format": "float"}))
        try:
            rows = msgspec.json.decode(body, type=_EmbeddingAnswer).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._unavailable(message("answered with something that is no list of vectors")) from error
        if sorted(row.index for row in rows) != list(range(len(texts))):
            raise self._unavailable(
                message(
                    "answered {texts} texts with {vectors} vectors, or in no order", texts=len(texts), vectors=len(rows)
                )
            )
        return self._normalise([row.embedding for row in sorted(rows, key=lambda row: row.index)])

    def _normalise(self, rows: list[list[float]]) -> Vectors:
        sizes = {len(row) for row in rows}
        if len(sizes) != 1 or not 0 < (size := sizes.pop()) <= MAX_DIMENSIONS or size != (self._dimension or size):
            raise self._unavailable(message("sent vectors of different lengths, or of other lengths than before"))
        vectors = np.array(rows, np.float64)
        scale = np.abs(vectors).max(axis=1, keepdims=True)
        if not np.isfinite(scale).all() or not scale.all():
            raise self._unavailable(message("sent vectors without a direction: all zero, or not a number"))
        vectors /= scale
        vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
        self._dimension = size
        return vectors.astype(np.float32)

    def _post(self, content: bytes) -> bytes:
        """Send a request and return the body of the answer; any failure is EMBEDDING_UNAVAILABLE."""
        from fabula.net.client import HttpPolicy, post  # imports httpx2

        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        policy = HttpPolicy(
            base_url=self._url.geturl(),
            sends_key=bool(self._key),
            allow_link_local=self._allow_link_local,
            connect_seconds=self._seconds / 2,
            read_seconds=self._seconds,
            max_bytes=MAX_ANSWER_BYTES,
        )
        try:
            status, body = post(policy, "/embeddings", content, headers, total_seconds=self._seconds)
        except (ProxyRefusedError, ImportError) as error:
            problem = message("is behind a proxy that cannot be used here; put the server into NO_PROXY")
            raise self._unavailable(problem) from error
        except AddressRefusedError as error:
            raise self._unavailable(error.problem) from error
        except AnswerRefusedError as error:
            raise self._unavailable(message("answered with {problem}", problem=error.problem)) from error
        except ConnectionError as error:
            raise self._unavailable(message("cannot be reached")) from error
        except OSError as error:
            raise self._unavailable(message("broke off or did not answer in time")) from error
        if 300 <= status < 400:
            raise self._unavailable(message("redirects to another address; name the final address"))
        if status != 200:
            raise self._unavailable(message("answered with status {status}", status=status))
        return body

    def _unavailable(self, problem: str | Sentence) -> FabulaError:
        return unavailable(message("The embeddings server {host} {problem}.", host=self._host, problem=problem))


def _parse_url(url: str) -> SplitResult:
    problem = find_url_problem(url)
    if problem:
        raise unavailable(message("The address of the embeddings server {problem}.", problem=problem))
    return urlsplit(url)
