"""Models by name: context window, encoding, and the tokens that each message takes beside its text (bud-2).

A name matches the longest known family name it begins with, so `gpt-4o-2024-11-20` is `gpt-4o`. A window or an
encoding given with the request outranks the table.
"""

from __future__ import annotations

from difflib import get_close_matches

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.text.tokens.tokenizer import ScaledTokenizer, Tokenizer, load_encoding


class Model(Struct, frozen=True):
    """What the engine must know about a model to count tokens for it."""

    name: str
    window: int
    encoding: str
    factor: float = 1.0  # above 1 where no vocabulary is published, to over-count
    tokens_per_message: int = 4
    tokens_per_reply: int = 3
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


CLAUDE_FACTOR = 1.35  # higher than every published comparison we know of
GEMINI_FACTOR = 1.1
SMALL_FACTOR = 1.4  # a vocabulary of 49,000 entries makes more tokens than one of 200,000

_K = 1024
MODEL_FAMILIES: tuple[Model, ...] = (
    Model("gpt-5", 272_000, "o200k_base", accepts_images=True, accepts_files=True),
    Model("gpt-5-chat", 128_000, "o200k_base", accepts_images=True),
    Model("gpt-4.1", 1_047_576, "o200k_base", accepts_images=True, accepts_files=True),
    Model("gpt-4.5", 128_000, "o200k_base", accepts_images=True),
    Model("chatgpt-4o", 128_000, "o200k_base", accepts_images=True),
    Model("gpt-4o", 128_000, "o200k_base", accepts_images=True, accepts_files=True),
    Model("gpt-4-turbo", 128_000, "cl100k_base", accepts_images=True),
    Model("gpt-4-32k", 32_768, "cl100k_base"),
    Model("gpt-4", 8_192, "cl100k_base"),
    Model("gpt-3.5-turbo", 16_385, "cl100k_base"),
    Model("gpt-3.5-turbo-0613", 4_096, "cl100k_base"),
    Model("gpt-oss", 131_072, "o200k_base", tokens_per_message=5),
    Model("o1", 200_000, "o200k_base", accepts_images=True, accepts_files=True),
    Model("o1-mini", 128_000, "o200k_base"),
    Model("o3", 200_000, "o200k_base", accepts_images=True, accepts_files=True),
    Model("o4-mini", 200_000, "o200k_base", accepts_images=True, accepts_files=True),
    Model("claude", 200_000, "o200k_base", CLAUDE_FACTOR, 6, 4, accepts_images=True, accepts_files=True),
    Model("claude-2", 100_000, "o200k_base", CLAUDE_FACTOR, 6, 4),
    Model("gemini", 1_048_576, "gemma3", GEMINI_FACTOR, 5, 4, accepts_images=True),
    Model("gemma-2", 8_192, "gemma2", 1.0, 5, 4),
    Model("gemma-3", 128 * _K, "gemma3", 1.0, 5, 4, accepts_images=True),
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
    Model("smollm2", 2_048, "o200k_base", SMALL_FACTOR, 5, 3),  # it accepts four times that, but would read for minutes
)
_BY_NAME = {model.name: model for model in MODEL_FAMILIES}
# Releases whose names begin like a family's but which have another vocabulary.
_OTHER_VOCABULARY = ("qwen3.5", "qwen3.6", "phi-4-mini", "deepseek-coder", "deepseek-r1-distill")


def is_known(name: str) -> bool:
    """Is this model in the table?"""
    return _find_family(_strip_vendor(name)) is not None


def find_model(name: str, *, window: int | None = None, encoding_name: str | None = None) -> Model:
    """The model of that name; with both a window and an encoding given, any name is accepted."""
    found = _find_family(_strip_vendor(name))
    if found is None:
        if window is None or encoding_name is None:
            raise _unknown_model(name, _strip_vendor(name))
        found = Model(name, window, encoding_name)
    return Model(
        name,
        found.window if window is None else window,
        found.encoding if encoding_name is None else encoding_name,
        found.factor if encoding_name is None else 1.0,
        found.tokens_per_message,
        found.tokens_per_reply,
        found.accepts_images,
        found.accepts_files,
    )


def _strip_vendor(name: str) -> str:
    return name.lower().rsplit("/", 1)[-1]


def _find_family(plain: str) -> Model | None:
    hits = [known for known in _BY_NAME if plain.startswith(known)]
    return None if not hits or plain.startswith(_OTHER_VOCABULARY) else _BY_NAME[max(hits, key=len)]


def _unknown_model(name: str, plain: str) -> FabulaError:
    near = get_close_matches(plain, _BY_NAME, n=3, cutoff=0.4)
    hint = f"Did you mean {', '.join(near)}?" if near else f"Known families: {', '.join(_BY_NAME)}."
    return FabulaError(
        Code.MODEL_UNKNOWN,
        f"No model called {name!r} is known here. {hint} Or give a window and an encoding with the request.",
        nearest=near,
    )
