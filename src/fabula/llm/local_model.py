"""Count prompts for the model on this machine with the vocabulary of its own file (bud-2).

Whatever the model is called, the local provider loads one GGUF file. So the bundled model, and a request whose encoding
is `gguf`, are counted with what is in that file.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from fabula.llm.providers.local import BUNDLED_MODEL, find_model_file
from fabula.text.tokens.gguf import GgufError, GgufVocabulary
from fabula.text.tokens.models import Model, find_model
from fabula.text.tokens.tokenizer import ByteTokenizer, Tokenizer

GGUF_ENCODING = "gguf"


def find_counted_model(name: str, *, window: int | None = None, encoding_name: str | None = None) -> Model:
    """The model of that name; of the one on this machine with the overhead of its own chat template."""
    model = find_model(name, window=window, encoding_name=encoding_name)
    is_bundled = encoding_name is None and name.lower().startswith(BUNDLED_MODEL) and find_model_file() is not None
    if not is_bundled and encoding_name != GGUF_ENCODING:
        return model
    vocabulary = _find_vocabulary()
    if vocabulary is None:
        return replace(model, encoding=GGUF_ENCODING, factor=1.0, tokens_per_message=32, tokens_per_reply=32)
    overhead = vocabulary.measure_overhead()
    return replace(
        model,
        encoding=GGUF_ENCODING,
        factor=1.0,
        tokens_per_message=overhead.per_message,
        tokens_per_reply=overhead.per_reply,
    )


def load_tokenizer(model: Model) -> Tokenizer:
    """The tokenizer of a model; that of the model on this machine comes from its file."""
    if model.encoding != GGUF_ENCODING:
        return model.tokenizer()
    vocabulary = _find_vocabulary()
    return ByteTokenizer() if vocabulary is None else vocabulary.tokenizer


def _find_vocabulary() -> GgufVocabulary | None:
    file = find_model_file()
    try:
        return None if file is None else _load_vocabulary(file, file.stat().st_mtime_ns)
    except (OSError, GgufError):
        return None


@lru_cache(maxsize=2)
def _load_vocabulary(file: Path, modified: int) -> GgufVocabulary:
    return GgufVocabulary(file)
