"""Tokenizers: count tokens exactly and offline, or over-count where no vocabulary is published (bud-2).

Counts are cached by text. Byte-level encodings have a property on which the engine rests: where one block ends with a
line break and the next begins with text (not with `/`), the counts of the blocks add up to the count of the whole.
Encodings without this property have `additive` false, and the engine counts their prompts again at the end.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import ceil
from typing import Protocol

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_alternatives, message
from fabula.core.similar_names import find_similar_names
from fabula.text.bounded_cache import BoundedTextCache

CACHED_CHARACTERS = 3_000_000  # of text in one generation of cached counts
_EAST_ASIAN = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")  # a token or two each, in every vocabulary
_RARE = re.compile("[\U00010000-\U0010ffff]")  # emoji and historic scripts: up to four tokens each


class Tokenizer(Protocol):
    """Anything that can count the tokens of a text."""

    @property
    def name(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    @property
    def additive(self) -> bool: ...
    def count(self, text: str) -> int: ...


class TokenizerError(Exception):
    """A tokenizer raised, or returned something that is not a count."""

    def __init__(self, problem: Sentence) -> None:
        super().__init__(problem)
        self.problem = problem


def _failure(name: str, error: Exception) -> TokenizerError:
    kind = type(error).__name__
    return TokenizerError(message("the tokenizer {name} failed ({kind})", name=name, kind=kind))


class Encoding:
    """One published vocabulary, bundled with the `splintr` wheel."""

    __slots__ = ("_counts", "_encode", "_vocabulary", "additive", "exact", "name")

    # SentencePiece vocabularies add a mark in front of each text, so their counts do not add up.
    NOT_ADDITIVE = frozenset({"llama2", "mistral_v1", "mistral_v2", "codellama"})

    def __init__(self, name: str) -> None:
        from splintr import Tokenizer as Vocabulary

        self.name = name
        self.exact = True
        self.additive = name not in self.NOT_ADDITIVE
        # `encode_ordinary`: a `<|think|>` typed by a writer is plain text, not one control token.
        self._vocabulary = Vocabulary.from_pretrained(name)
        self._encode = self._vocabulary.encode_ordinary
        self._counts = BoundedTextCache[int](CACHED_CHARACTERS)

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        count = self._counts.recent.get(text)
        return count if count is not None else self._counts.get_or_compute(text, self._count)

    def _count(self, text: str) -> int:
        try:
            return len(self._encode(text))
        except Exception as error:
            raise _failure(self.name, error) from error

    def clear_cache(self) -> None:
        """Free the memory of all cached counts."""
        self._counts = BoundedTextCache(CACHED_CHARACTERS)
        self._vocabulary.clear_cache()


class GuardedTokenizer:
    """A tokenizer from outside: whatever it does wrong becomes a TokenizerError."""

    __slots__ = ("_base", "additive", "exact", "name")

    def __init__(self, base: Tokenizer) -> None:
        self._base = base
        self.name = base.name
        self.exact = base.exact
        self.additive = base.additive

    def count(self, text: str) -> int:
        """The count, checked to be one."""
        try:
            count = self._base.count(text)
        except Exception as error:
            raise _failure(self.name, error) from error
        if not isinstance(count, int) or count < 0:
            raise TokenizerError(message("the tokenizer {name} gave no count", name=self.name))
        return count


class ScaledTokenizer:
    """A stand-in for an unpublished vocabulary: the count of another one times a factor, and more for what varies most.

    Vocabularies differ little in prose of Latin letters. They differ up to four times in digits, which some count one
    by one, in emoji, and in scripts that some know and others spell in bytes. So these characters count in addition.
    """

    __slots__ = ("_base", "_counts", "_factor", "additive", "exact", "name")

    def __init__(self, base: Tokenizer, factor: float) -> None:
        self.name = f"{base.name}*{factor:g}"
        self.exact = False
        self.additive = base.additive
        self._base = base
        self._factor = factor
        self._counts = BoundedTextCache[int](CACHED_CHARACTERS)

    def count(self, text: str) -> int:
        """The scaled count, rounded up."""
        return self._counts.get_or_compute(text, self._count)

    def _count(self, text: str) -> int:
        more = float(sum(map(text.count, "0123456789")))
        if not text.isascii():
            east_asian, rare = len(_EAST_ASIAN.findall(text)), len(_RARE.findall(text))
            other = len(text) - len(text.encode("ascii", "ignore")) - east_asian - rare
            more += east_asian / 2 + other + 2 * rare
        return ceil(self._base.count(text) * self._factor + more)


class ByteTokenizer:
    """Counts one token a byte, which no vocabulary here exceeds.

    It over-counts prose several times, and replaces a tokenizer that failed.
    """

    name = "cautious"
    exact = False
    additive = True

    def count(self, text: str) -> int:
        """A count that no real vocabulary exceeds."""
        return len(text.encode("utf-8", "replace")) + 1 if text else 0


ENCODINGS = (
    *("o200k_base", "cl100k_base", "llama2", "llama3", "qwen2", "qwen3", "deepseek_v3", "glm4", "kimi_k2"),
    *("mistral_v1", "mistral_v2", "mistral_v3", "gemma2", "gemma3", "phi4", "olmo2"),
)


@lru_cache(maxsize=len(ENCODINGS))
def load_encoding(name: str) -> Encoding:
    """An encoding by its name, loaded once a process."""
    if name not in ENCODINGS:
        near = find_similar_names(name, ENCODINGS) or ENCODINGS
        raise FabulaError(
            Code.MODEL_UNKNOWN,
            message("Fabula knows no encoding called {name!r}. Try {names}.", name=name, names=join_alternatives(near)),
            nearest=near,
        )
    return Encoding(name)
