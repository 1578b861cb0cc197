"""Models by name: context window, encoding, and the tokens that each message takes beside its text (bud-2).

`models.json` lists the families. A name matches the longest known family name it begins with, so `gpt-4o-2024-11-20`
is `gpt-4o`. A window or an encoding given with the request outranks the table.

The overhead is that of the published chat templates, and of the dearest message where roles differ. Some templates put
words of their own before the prompt: always (`tokens_per_reply`), or where it has no system message
(`default_system_tokens`). The encoding `estimate` is for models whose vocabulary and template are unknown: its counts
are above those of every published vocabulary for text as people write it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_alternatives, join_names, message
from fabula.core.similar_names import find_similar_names
from fabula.text.tokens.tokenizer import ScaledTokenizer, Tokenizer, load_encoding


class Model(Struct, frozen=True):
    """What the engine must know about a model to count tokens for it."""

    name: str
    window: int
    encoding: str
    factor: float = 1.0  # above 1 where no vocabulary is published: higher than every comparison we know of
    tokens_per_message: int = 4
    tokens_per_reply: int = 3
    default_system_tokens: int = 0  # of the system message that the template adds to a prompt without one
    accepts_images: bool = False
    accepts_files: bool = False  # PDF documents

    @property
    def is_exact(self) -> bool:
        """Are counts made with the model's own vocabulary?"""
        return self.factor == 1.0

    def tokenizer(self) -> Tokenizer:
        """The tokenizer of this model."""
        base = load_encoding(self.encoding)
        return base if self.is_exact else ScaledTokenizer(base, self.factor)


MODEL_FAMILIES = msgspec.json.decode(Path(__file__).with_name("models.json").read_bytes(), type=tuple[Model, ...])
ESTIMATE = "estimate"  # the encoding of a model that nothing is known of
_ESTIMATED = Model(
    ESTIMATE, 8192, "o200k_base", 1.5, tokens_per_message=14, tokens_per_reply=90, default_system_tokens=100
)
_BY_NAME = {model.name: model for model in MODEL_FAMILIES}
# Releases whose names begin like a family's but which have another vocabulary.
_OTHER_VOCABULARY = (
    *("qwen3.5", "qwen3.6", "phi-4-mini", "phi4-mini", "deepseek-coder", "deepseek-r1-distill"),
    "deepseek-r1:",  # Ollama's name for the distilled ones too
)


def is_known(name: str) -> bool:
    """Is this model in the table?"""
    return _find_family(name) is not None


def find_model(name: str, *, window: int | None = None, encoding_name: str | None = None) -> Model:
    """The model of that name; with both a window and an encoding given, any name is accepted."""
    found = _find_family(name)
    if encoding_name == ESTIMATE and (found is not None or window is not None):
        estimated = replace(_ESTIMATED if found is None else replace(_ESTIMATED, window=found.window), name=name)
        return estimated if window is None else replace(estimated, window=window)
    if found is None:
        if window is None or encoding_name is None:
            raise _unknown_model(name)
        return Model(name, window, encoding_name)
    if encoding_name is not None:
        found = replace(found, encoding=encoding_name, factor=1.0)
    return replace(found, name=name, window=found.window if window is None else window)


def _strip_vendor(name: str) -> str:
    return name.lower().rsplit("/", 1)[-1]


def _find_family(name: str) -> Model | None:
    plain = _strip_vendor(name)
    hits = [known for known in _BY_NAME if plain.startswith(known)]
    return None if not hits or plain.startswith(_OTHER_VOCABULARY) else _BY_NAME[max(hits, key=len)]


def _unknown_model(name: str) -> FabulaError:
    near = find_similar_names(_strip_vendor(name), _BY_NAME)
    if near:
        hint = message("Did you mean {names}?", names=join_alternatives(near))
    else:
        hint = message("Known families: {names}.", names=join_names([*_BY_NAME]))
    return FabulaError(
        Code.MODEL_UNKNOWN,
        message(
            "Fabula knows no model called {name!r}. {hint} Or give a window and an encoding with the request.",
            name=name,
            hint=hint,
        ),
        nearest=near,
    )
