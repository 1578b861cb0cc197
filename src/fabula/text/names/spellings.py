"""Spellings: the ways in which one name may be written, and what is looked through for them.

Text is levelled first, character for character, so that offsets stay: a curly apostrophe is a straight one,
and a line break or a hard space inside a name is a space. What a name may do beyond that is listed here: stand
in capitals, begin a sentence, be written small where that is no ordinary word, have its accents apart, or
become several in a way that changes its ending (Fairies, Wolves, Watermen).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Set
from unicodedata import is_normalized, normalize

from fabula.text.tokens.tokenizer import encoding

_COMMON = 14  # letters; hardly any longer word is a single token
_SIBILANT = re.compile(r"(?:[sxz]|ch|sh)\Z", re.IGNORECASE)
_LONGER = re.compile(r"(?P<y>(?<=[bcdfghjklmnpqrstvwxz])y)\Z|(?P<f>(?<=[A-Za-z][^f])fe?)\Z|(?P<man>(?<=[a-z])man)\Z")


def levelled(text: str) -> str:
    """The text as names are looked for in it, as long as before."""
    return text.replace("’", "'").replace("\n", " ").replace("\u00a0", " ").replace("\u3000", " ")


def folded(text: str) -> str:
    """The text in small letters, character for character."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join([lower if len(lower := character.lower()) == 1 else character for character in text])


def ways(name: str, common: Collection[str]) -> tuple[str, ...]:
    """How a name may be written, levelled; small only where that is none of the common words."""
    found = _cases(name, common)
    if name[-1] in "yfen" and (several := changed_plural(name)) is not None:
        found += _cases(several, common, small=False)
    if not name.isascii() and not (is_normalized("NFC", name) and is_normalized("NFD", name)):
        found = tuple(dict.fromkeys((*found, *(normalize(form, way) for form in ("NFC", "NFD") for way in found))))
    return tuple(map(levelled, found)) if levelled(name) != name else found


def exact_ways(name: str) -> tuple[str, ...]:
    """A name as it is, where case matters."""
    several = changed_plural(name)
    return (levelled(name),) if several is None else (levelled(name), levelled(several))


def _cases(name: str, common: Collection[str], *, small: bool = True) -> tuple[str, ...]:
    found = {name: None, name[0].upper() + name[1:]: None}
    if len(name) > 1:
        found[name.upper()] = None
    if small and name[0].isupper() and (low := name.lower()) not in common:
        found[low] = None
    return tuple(found)


def changed_plural(name: str) -> str | None:
    """Several of a name, where more than an ending is added."""
    found = _LONGER.search(name)
    if found is None:
        return None
    return name[: found.start()] + {"y": "ies", "f": "ves", "man": "men"}[found.lastgroup or "y"]


def plural(name: str) -> str:
    """Several of a name, as one writes it: the Foxes, the Bennets."""
    return name + ("es" if _SIBILANT.search(name) else "s")


def ordinary(words: Set[str]) -> Set[str]:
    """The common words among these: those that a large vocabulary spells as one token."""
    count = encoding("o200k_base").count
    return {word for word in words if len(word) <= _COMMON and word.isalpha() and count(" " + word) == 1}
