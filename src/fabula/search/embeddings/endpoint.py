"""An embedder that uses a server with OpenAI's `/v1/embeddings`.

The server is not trusted: its address is checked before anything is sent, redirects are not followed, an answer has
limits of time and size, and its vectors are counted, ordered, checked and normalised here. A proxy of the machine is
used. Every failure is EMBEDDING_UNAVAILABLE, and its sentence contains neither text nor key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import SplitResult, urlsplit

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Message
from fabula.net.addresses import find_url_problem
from fabula.net.errors import AddressRefusedError, AnswerRefusedError, ProxyRefusedError

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


class _EmbeddingRequest(Struct):
    model: str
    input: list[str]
    encoding_format: Literal["float"] = "float"


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
        body = self._post(msgspec.json.encode(_EmbeddingRequest(self._model, sent)))
        try:
            rows = msgspec.json.decode(body, type=_EmbeddingAnswer).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._unavailable("answered with something that is no list of vectors") from error
        if sorted(row.index for row in rows) != list(range(len(texts))):
            raise self._unavailable(f"answered {len(texts)} texts with {len(rows)} vectors, or in no order")
        return self._normalise([row.embedding for row in sorted(rows, key=lambda row: row.index)])

    def _normalise(self, rows: list[list[float]]) -> Vectors:
        sizes = {len(row) for row in rows}
        if len(sizes) != 1 or not 0 < (size := sizes.pop()) <= MAX_DIMENSIONS or size != (self._dimension or size):
            raise self._unavailable(f"gave vectors of other lengths than before ({self._dimension or 'none'})")
        vectors = np.array(rows, np.float64)
        scale = np.abs(vectors).max(axis=1, keepdims=True)
        if not np.isfinite(scale).all() or not scale.all():
            raise self._unavailable("gave vectors that are no direction: all zero, or not a number")
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
            raise self._unavailable(
                "is behind a proxy that cannot be used here; put the server into NO_PROXY"
            ) from error
        except AddressRefusedError as error:
            raise self._unavailable(error.problem) from error
        except AnswerRefusedError as error:
            raise self._unavailable(f"answered with {error.problem}") from error
        except ConnectionError as error:
            raise self._unavailable("cannot be reached") from error
        except OSError as error:
            raise self._unavailable("broke off or did not answer in time") from error
        if 300 <= status < 400:
            raise self._unavailable("sends us elsewhere; name the address it means, redirects are not followed")
        if status != 200:
            raise self._unavailable(f"answered with status {status}")
        return body

    def _unavailable(self, problem: str | Message) -> FabulaError:
        return FabulaError(
            Code.EMBEDDING_UNAVAILABLE, f"The embeddings server {self._host} {problem}. Search goes by words alone."
        )


def _parse_url(url: str) -> SplitResult:
    problem = find_url_problem(url)
    if problem:
        raise FabulaError(
            Code.EMBEDDING_UNAVAILABLE, f"The address of the embeddings server {problem}. Search goes by words alone."
        )
    return urlsplit(url)
