"""Counting tokens, exactly and offline.

Every count is remembered by content, so a text is counted once ever. The byte-level encodings
have a property the whole engine leans on: where one piece ends with a line break and the next
begins with text (not with `/`), the counts of the pieces add up to the count of the whole.
Encodings without it say so (`additive`), and the engine counts their prompts again at the end.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from math import ceil
from typing import Protocol

from fabula.core.errors import Code, FabulaError
from fabula.text.bounded_cache import Remembered

KEPT_CHARACTERS = 8_000_000  # in a generation of remembered counts


class Tokenizer(Protocol):
    """Anything that can say how many tokens a text is."""

    @property
    def name(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    @property
    def additive(self) -> bool: ...
    def count(self, text: str) -> int: ...


class TokenizerError(Exception):
    """A tokenizer raised, or answered something that is not a count."""


class Encoding:
    """One published vocabulary, bundled with the `splintr` wheel."""

    __slots__ = ("_counts", "_encode", "_vocabulary", "additive", "exact", "name")

    # SentencePiece vocabularies put a mark in front of each text: their counts do not add up.
    NOT_ADDITIVE = frozenset({"llama2", "mistral_v1", "mistral_v2", "codellama"})

    def __init__(self, name: str) -> None:
        from splintr import Tokenizer as Vocabulary

        self.name = name
        self.exact = True
        self.additive = name not in self.NOT_ADDITIVE
        # Ordinary: a `<|think|>` typed by a writer is seven characters, not one control token.
        self._vocabulary = Vocabulary.from_pretrained(name)
        self._encode = self._vocabulary.encode_ordinary
        self._counts = Remembered[int](KEPT_CHARACTERS)

    def count(self, text: str) -> int:
        """How many tokens the text is."""
        known = self._counts.young.get(text)
        return known if known is not None else self._counts.find(text, self._count)

    def _count(self, text: str) -> int:
        try:
            return len(self._encode(text))
        except Exception as error:
            raise TokenizerError(f"the tokenizer {self.name} failed ({type(error).__name__})") from error

    def forget(self) -> None:
        """Give back the memory of all counts."""
        self._counts = Remembered(KEPT_CHARACTERS)
        self._vocabulary.clear_cache()


class Guarded:
    """A tokenizer nobody here wrote: whatever it does wrong becomes one kind of failure."""

    __slots__ = ("_under", "additive", "exact", "name")

    def __init__(self, under: Tokenizer) -> None:
        self._under = under
        self.name = under.name
        self.exact = under.exact
        self.additive = under.additive

    def count(self, text: str) -> int:
        """The count, if it is one."""
        try:
            count = self._under.count(text)
        except Exception as error:
            raise TokenizerError(f"the tokenizer {self.name} failed ({type(error).__name__})") from error
        if not isinstance(count, int) or count < 0:
            raise TokenizerError(f"the tokenizer {self.name} gave no count")
        return count


class Scaled:
    """A stand-in for a vocabulary nobody published: another one's count, times a stated factor."""

    __slots__ = ("_factor", "_under", "additive", "exact", "name")

    def __init__(self, under: Tokenizer, factor: float) -> None:
        self.name = f"{under.name}*{factor:g}"
        self.exact = False
        self.additive = under.additive
        self._under = under
        self._factor = factor

    def count(self, text: str) -> int:
        """An over-count, rounded up."""
        return ceil(self._under.count(text) * self._factor)


class Cautious:
    """No vocabulary at all: a token a byte, which no vocabulary here can exceed.

    It over-counts ordinary prose several times over, and is what remains when a tokenizer fails.
    """

    name = "cautious"
    exact = False
    additive = True

    def count(self, text: str) -> int:
        """A count that real vocabularies stay under."""
        return len(text.encode("utf-8", "replace")) + 1 if text else 0


ENCODINGS = (
    "o200k_base",
    "cl100k_base",
    "llama2",
    "llama3",
    "qwen2",
    "qwen3",
    "deepseek_v3",
    "glm4",
    "kimi_k2",
    "mistral_v1",
    "mistral_v2",
    "mistral_v3",
    "gemma2",
    "gemma3",
    "phi4",
    "olmo2",
)


@lru_cache(maxsize=len(ENCODINGS))
def encoding(name: str) -> Encoding:
    """A vocabulary by its name, loaded once a process (it never changes)."""
    if name not in ENCODINGS:
        near = get_close_matches(name, ENCODINGS, n=3, cutoff=0.4) or ENCODINGS
        raise FabulaError(
            Code.MODEL_UNKNOWN, f"No encoding called {name!r} is known here. Try {', '.join(near)}.", nearest=near
        )
    return Encoding(name)
