"""Make the spellings in which a name may occur in a text (cdx-3).

Punctuation is levelled first, character for character, so that offsets stay: a curly apostrophe becomes a straight
one, and a line break or hard space becomes a space. Beyond that a name may stand in capitals, begin a sentence, be in
lower case where that is no ordinary word, have decomposed accents, or have a plural that changes its ending (Fairies,
Wolves, Watermen). A name that is given in lower case may stand in title case (the White Whale).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Set
from unicodedata import is_normalized, normalize

from fabula.text.tokens.tokenizer import load_encoding

_MAX_COMMON_WORD = 14  # letters; hardly any longer word is a single token
_ARTICLE = re.compile(r"(?:The|An?) (?=\S)")
_WORD_START = re.compile(r"(?<![^\s-])[^\W\d_]")
_MAIN_WORD_START = re.compile(  # titles leave small words in lower case
    r"(?<![^\s-])(?!(?:an?|and|at|by|de|du|for|from|in|of|on|or|the|to|von|with)(?![^\s-]))[^\W\d_]"
)
_SIBILANT = re.compile(r"(?:[sxz]|ch|sh)\Z", re.IGNORECASE)
_CHANGING_ENDING = re.compile(
    r"(?P<y>(?<=[bcdfghjklmnpqrstvwxz])y)\Z|(?P<f>(?<=[A-Za-z][^f])fe?)\Z|(?P<man>(?<=[a-z])man)\Z"
)


def level_punctuation(text: str) -> str:
    """A text with levelled punctuation, as long as before."""
    return text.replace("’", "'").replace("\n", " ").replace("\u00a0", " ").replace("\u3000", " ")


def fold_case(text: str) -> str:
    """A text in lower case, as long as before."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join([small if len(small := character.lower()) == 1 else character for character in text])


def make_spellings(name: str, common: Collection[str]) -> tuple[str, ...]:
    """The spellings of a name, levelled; in lower case only where that is none of the common words."""
    if min(name) >= "\u4e00" and max(name) <= "\u9fff":  # Chinese
        return (name,)
    spellings = _vary_case(name, common)
    if name[-1] in "yfen" and (plural := make_irregular_plural(name)) is not None:
        spellings += _vary_case(plural, common, lower=False)
    if not name.isascii() and not (is_normalized("NFC", name) and is_normalized("NFD", name)):
        composed = [normalize(form, spelling) for form in ("NFC", "NFD") for spelling in spellings]
        spellings = tuple(dict.fromkeys((*spellings, *composed)))
    return tuple(map(level_punctuation, spellings)) if level_punctuation(name) != name else spellings


def make_exact_spellings(name: str) -> tuple[str, ...]:
    """The spellings of a name where case matters: as it is, and its plural."""
    plural = make_irregular_plural(name)
    return (level_punctuation(name),) if plural is None else (level_punctuation(name), level_punctuation(plural))


def _vary_case(name: str, common: Collection[str], *, lower: bool = True) -> tuple[str, ...]:
    spellings = {name: None, name[0].upper() + name[1:]: None}
    if len(name) > 1:
        spellings[name.upper()] = None
    if name.islower():  # `the white whale` is also the White Whale and The White Whale
        for pattern in (_WORD_START, _MAIN_WORD_START):
            spellings[pattern.sub(_to_upper, name)] = None
    if (article := _ARTICLE.match(name)) is not None:  # `The Letter` is also the Letter
        spellings[article[0].lower() + name[article.end() :]] = None
    if lower and name[0].isupper() and (lowered := name.lower()) not in common:
        spellings[lowered] = None
    return tuple(spellings)


def _to_upper(letter: re.Match[str]) -> str:
    return letter[0].upper()


def make_irregular_plural(name: str) -> str | None:
    """The plural of a name, where it changes the ending; None where it only adds one."""
    ending = _CHANGING_ENDING.search(name)
    if ending is None:
        return None
    return name[: ending.start()] + {"y": "ies", "f": "ves", "man": "men"}[ending.lastgroup or "y"]


def make_plural(name: str) -> str:
    """The plural of a name with an added ending: the Foxes, the Bennets."""
    return name + ("es" if _SIBILANT.search(name) else "s")


def find_common_words(words: Set[str]) -> Set[str]:
    """The common words among these: those that are one token in a large vocabulary."""
    if not words:
        return words  # without loading the vocabulary
    count = load_encoding("o200k_base").count
    return {word for word in words if len(word) <= _MAX_COMMON_WORD and word.isalpha() and count(" " + word) == 1}
