"""Words that two texts share and that are worth naming to a person: whole words with content, no numbers.

Search compares stems and pairs of characters, which nobody would call words. Here Chinese is cut by the segmenter, and
only nouns, verbs and adjectives count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fabula.text.keywords import split_content_words
from fabula.text.segmenter import load_segmenter
from fabula.text.stemmer import stem

_HAN_RUN = re.compile(r"[\u3400-\u9fff]{2,}")
_CONTENT_TAGS = ("n", "a", "i", "l", "z", "s", "v")  # of the segmenter: the first letter says the part of speech
_FUNCTION_CHARACTERS = frozenset("了着过的得地是来去出上下见说道问笑没不可会能有在")  # a verb with one says little
_MIN_LATIN = 3


def find_shared_words(text: str, others: Iterable[str]) -> list[str]:
    """The words of a text that occur in one of the others too, in any inflected form, the longest first."""
    known = set().union(*(_map_words(other) for other in others))
    shared = {word for form, word in _map_words(text).items() if form in known}
    return sorted(shared, key=lambda word: (-len(word), word))


def _map_words(text: str) -> dict[str, str]:
    """The content words of a text, each by the form in which it is compared."""
    spaced = _HAN_RUN.sub(" ", text)
    words = {stem(word): word for word in split_content_words(spaced) if len(word) >= _MIN_LATIN}
    for run in _HAN_RUN.findall(text):
        tagged = load_segmenter().tag(run, False)
        words |= {word: word for word, tag in tagged if len(word) > 1 and _is_content(word, tag)}
    return words


def _is_content(word: str, tag: str) -> bool:
    """Whether a word is a noun, a verb or an adjective with a meaning of its own."""
    return tag.startswith(_CONTENT_TAGS) and not (tag[0] == "v" and not _FUNCTION_CHARACTERS.isdisjoint(word))
