"""Read where the cursor stands, as a person says it: an offset, or the words before or after it.

`after 'she said no'` and `before 'she said no'`, or `“她说不”之后` and `“她说不”之前`. Case, line breaks and the shape
of quotation marks do not matter. The words must stand in the chapter once, because a guess would write in the wrong
place.
"""

from __future__ import annotations

import re

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message

_PLACE = re.compile(
    r"\s*(?:(?P<side>after|before)\b[\s:]*(?P<words>.+?)|在?\s*(?P<chinese>.+?)\s*之?(?P<where>前|后|後))\s*",
    re.IGNORECASE | re.DOTALL,
)
_OFFSET = re.compile(r"\s*-?\d+\s*", re.ASCII)
_QUOTES = {"'": "'‘’`", '"': '"“”„«»'}
_QUOTED = re.compile(r"""(?s)(?:'(.+)'|"(.+)"|‘(.+)’|“(.+)”|「(.+)」|『(.+)』|《(.+)》|«(.+)»)""")
_SENTENCE = re.compile(r"[^.!?。！？…\n]+")
_WORD = re.compile(r"[㐀-鿿]|[^\W_]+")
_SHOWN = 80  # characters of a sentence that is nearest


def read_cursor(place: str, text: str) -> int:
    """Return the offset in a text that a person means; refused if the words are missing, or stand there twice."""
    if _OFFSET.fullmatch(place):
        return int(place)
    matched = _PLACE.fullmatch(place)
    if matched is None:
        form = message(
            "{place!r} is no place for the cursor. Write a number of characters, or: after 'words of the chapter', "
            "or: before 'words of the chapter'.",
            place=place,
        )
        words = _unquote(place)
        if not re.search(_make_pattern(words), text, re.IGNORECASE):
            form = message("{form} {problem}", form=form, problem=explain_words(words, 0, text))
        raise FabulaError(Code.REQUEST_INVALID, form)
    is_after = (matched["side"] or "").lower() == "after" or matched["where"] in ("后", "後")
    return find_words(_unquote(matched["words"] or matched["chinese"]), text)[1 if is_after else 0]


def find_words(words: str, text: str) -> tuple[int, int]:
    """Return where words stand in a text; refused if they are missing, or stand there twice."""
    found = [one.span(1) for one in re.finditer(f"(?=({_make_pattern(words)}))", text, re.IGNORECASE)]
    if len(found) != 1 or not words.strip():
        raise FabulaError(Code.REQUEST_INVALID, explain_words(words, len(found), text))
    return found[0]


def _unquote(words: str) -> str:
    matched = _QUOTED.fullmatch(words.strip())
    return next(filter(None, matched.groups())) if matched is not None else words.strip()


def _make_pattern(words: str) -> str:
    """Return a pattern for words with any blanks between them and any shape of quotation marks."""
    shapes = {shape: f"[{re.escape(shapes)}]" for shapes in _QUOTES.values() for shape in shapes}
    parts = ["".join(shapes.get(one, re.escape(one)) for one in part) for part in words.split()]
    return r"\s+".join(parts)


def explain_words(words: str, count: int, text: str) -> Sentence:
    """Say that words stand in a chapter several times, or not at all, and what is nearest to them."""
    if count:
        return message(
            "“{words}” stands in this chapter {count} times. Add more words of the sentence.", words=words, count=count
        )
    wanted = set(_WORD.findall(words.casefold()))
    sentences = [one.strip() for one in _SENTENCE.findall(text)]
    nearest = max(sentences, key=lambda one: len(wanted.intersection(_WORD.findall(one.casefold()))), default="")
    if not wanted.intersection(_WORD.findall(nearest.casefold())):
        return message("“{words}” does not stand in this chapter.", words=words)
    shown = nearest if len(nearest) <= _SHOWN else f"{nearest[:_SHOWN]}…"
    return message("“{words}” does not stand in this chapter. The nearest is: “{nearest}”", words=words, nearest=shown)
