"""Models by name: window, vocabulary, and what each message costs around its text.

Names are matched by their longest known beginning, so `gpt-4o-2024-11-20` is `gpt-4o`. The table
knows families, not every release; a window or an encoding given with the request outranks it.
"""

from __future__ import annotations

from difflib import get_close_matches

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.text.tokens.tokenizer import Scaled, Tokenizer, encoding


class Model(Struct, frozen=True):
    """What the engine must know about a model before it can count for it."""

    name: str
    window: int
    encoding: str
    factor: float = 1.0  # above 1: no vocabulary is published, so over-count
    per_message: int = 4
    per_reply: int = 3
    images: bool = False
    files: bool = False  # PDF documents

    @property
    def exact(self) -> bool:
        """Are counts those of the model itself?"""
        return self.factor == 1.0

    def tokenizer(self) -> Tokenizer:
        """Counts for this model."""
        base = encoding(self.encoding)
        return base if self.exact else Scaled(base, self.factor)


CLAUDE_FACTOR = 1.35  # no vocabulary is published; above every published comparison we know of
GEMINI_FACTOR = 1.1
SMALL_FACTOR = 1.4  # a vocabulary of 49 thousand makes more tokens of a text than one of 200

_K = 1024
FAMILIES: tuple[Model, ...] = (
    Model("gpt-5", 272_000, "o200k_base", images=True, files=True),
    Model("gpt-5-chat", 128_000, "o200k_base", images=True),
    Model("gpt-4.1", 1_047_576, "o200k_base", images=True, files=True),
    Model("gpt-4.5", 128_000, "o200k_base", images=True),
    Model("chatgpt-4o", 128_000, "o200k_base", images=True),
    Model("gpt-4o", 128_000, "o200k_base", images=True, files=True),
    Model("gpt-4-turbo", 128_000, "cl100k_base", images=True),
    Model("gpt-4-32k", 32_768, "cl100k_base"),
    Model("gpt-4", 8_192, "cl100k_base"),
    Model("gpt-3.5-turbo", 16_385, "cl100k_base"),
    Model("gpt-3.5-turbo-0613", 4_096, "cl100k_base"),
    Model("gpt-oss", 131_072, "o200k_base", per_message=5),
    Model("o1", 200_000, "o200k_base", images=True, files=True),
    Model("o1-mini", 128_000, "o200k_base"),
    Model("o3", 200_000, "o200k_base", images=True, files=True),
    Model("o4-mini", 200_000, "o200k_base", images=True, files=True),
    Model("claude", 200_000, "o200k_base", CLAUDE_FACTOR, 6, 4, images=True, files=True),
    Model("claude-2", 100_000, "o200k_base", CLAUDE_FACTOR, 6, 4),
    Model("gemini", 1_048_576, "gemma3", GEMINI_FACTOR, 5, 4, images=True),
    Model("gemma-2", 8_192, "gemma2", 1.0, 5, 4),
    Model("gemma-3", 128 * _K, "gemma3", 1.0, 5, 4, images=True),
    Model("llama-2", 4_096, "llama2", 1.0, 6, 4),
    Model("llama-3", 8_192, "llama3", 1.0, 5, 5),
    Model("llama-3.1", 131_072, "llama3", 1.0, 5, 5),
    Model("llama-3.2", 131_072, "llama3", 1.0, 5, 5),
    Model("llama-3.3", 131_072, "llama3", 1.0, 5, 5),
    Model("qwen2", 32_768, "qwen2", 1.0, 5, 3),
    Model("qwen2.5", 131_072, "qwen2", 1.0, 5, 3),
    Model("qwen3", 32_768, "qwen3", 1.0, 5, 3),
    Model("deepseek", 131_072, "deepseek_v3", 1.0, 4, 3),
    Model("glm-4", 131_072, "glm4", 1.0, 5, 3),
    Model("kimi-k2", 131_072, "kimi_k2", 1.0, 6, 4),
    Model("mistral-7b", 32_768, "mistral_v1", 1.0, 5, 3),
    Model("mistral-nemo", 131_072, "mistral_v3", 1.0, 5, 3),
    Model("mistral", 131_072, "mistral_v3", 1.0, 5, 3),
    Model("phi-4", 16_384, "phi4", 1.0, 5, 3),
    Model("smollm2", 2_048, "o200k_base", SMALL_FACTOR, 5, 3),  # it could take four times that, and read for minutes
)
_BY_NAME = {model.name: model for model in FAMILIES}
# Releases whose names begin like a family's but whose vocabulary is not the one we hold.
_NOT_COVERED = ("qwen3.5", "qwen3.6", "phi-4-mini", "deepseek-coder", "deepseek-r1-distill")


def is_known(name: str) -> bool:
    """Does the table know this model?"""
    return _family(_plain(name)) is not None


def find_model(name: str, *, window: int | None = None, encoding_name: str | None = None) -> Model:
    """The model of that name; with a window *and* an encoding given, any name will do."""
    found = _family(_plain(name))
    if found is None:
        if window is None or encoding_name is None:
            raise _unknown(name, _plain(name))
        found = Model(name, window, encoding_name)
    return Model(
        name,
        found.window if window is None else window,
        found.encoding if encoding_name is None else encoding_name,
        found.factor if encoding_name is None else 1.0,
        found.per_message,
        found.per_reply,
        found.images,
        found.files,
    )


def _plain(name: str) -> str:
    return name.lower().rsplit("/", 1)[-1]


def _family(plain: str) -> Model | None:
    hits = [known for known in _BY_NAME if plain.startswith(known)]
    return None if not hits or plain.startswith(_NOT_COVERED) else _BY_NAME[max(hits, key=len)]


def _unknown(name: str, plain: str) -> FabulaError:
    near = get_close_matches(plain, _BY_NAME, n=3, cutoff=0.4)
    hint = f"Did you mean {', '.join(near)}?" if near else f"Known families: {', '.join(_BY_NAME)}."
    return FabulaError(
        Code.MODEL_UNKNOWN,
        f"No model called {name!r} is known here. {hint} Or give a window and an encoding with the request.",
        nearest=near,
    )
