"""The words of rules: what bans, what is neutral (`words.toml`), and the names of punctuation marks.

Quotations in a rule are replaced by placeholders, one character each, so that their words are not read as the rule's.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fabula.constraints.model import NarrativePerson, Person

MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"exclamation (?:marks?|points?)|exclamations|感叹号|惊叹号|叹号", ("!", "！")),
    (r"question marks?|问号", ("?", "？")),
    (r"semi-?colons?|分号", (";", "；")),
    (r"(?<!semi)(?<!semi-)colons?|冒号", (":", "：")),
    (r"ellips[ie]s|dot dot dot|(?:three )?dots|省略号", ("…", "...")),
    (r"(?:(?:em|en|long)[- ])?dash(?:es)?|破折号", ("—", "--")),
    (r"parenthes[ie]s|(?:round )?brackets|圆?括号", ("(", ")", "（", "）")),
    (r"asterisks?|星号", ("*", "＊")),
    (r"ampersands?", ("&", "＆")),
    (r"tildes?|波浪号|波浪线", ("~", "～")),
)
HAN = re.compile(r"[\u3400-\u9fff]")
FIRST_PLACEHOLDER = 0xE000
PLACEHOLDER = "[\ue000-\uf8ff]"
TOKEN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+|[^\s\w]")
PERSON = re.compile(r"\b(first|second|third|1st|2nd|3rd)[- ]person\b|第\s?([一二三123])\s?人称", re.IGNORECASE)
PERSONS: dict[str, Person] = {
    **dict.fromkeys(("first", "1st", "一", "1"), "first"),
    **dict.fromkeys(("second", "2nd", "二", "2"), "second"),
    **dict.fromkeys(("third", "3rd", "三", "3"), "third"),
}
MARK_NAMES = "|".join(rf"(?:{name})" if HAN.search(name) is None else name for name, _ in MARKS)


class EnglishWords(Struct, frozen=True):
    """The words of English rules, by what they do in a rule."""

    ban: frozenset[str]
    after: frozenset[str]
    neutral: frozenset[str]
    words: frozenset[str]
    not_listed: frozenset[str]
    length: frozenset[str]
    person: frozenset[str]
    phrases: dict[str, str]


class ChineseWords(Struct, frozen=True):
    """The words of Chinese rules, by what they do in a rule, with blanks between them."""

    ban: str
    after: str
    before: str
    between: str
    mention: str
    around_names: str
    length: str
    person: str


@lru_cache(maxsize=1)
def load_words() -> tuple[EnglishWords, ChineseWords]:
    """Load the words of both languages."""
    data: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
    english = {name: value.split() if isinstance(value, str) else value for name, value in data["english"].items()}
    return msgspec.convert(english, EnglishWords), msgspec.convert(data["chinese"], ChineseWords)


def split_tokens(text: str) -> list[str]:
    """Split a text into words, numbers and marks, in lower case."""
    return [token.lower() for token in TOKEN.findall(text)]


def find_marks(rule: str) -> tuple[str, ...]:
    """The marks that a rule calls by their names, such as `exclamation marks`."""
    return tuple(mark for name, marks in MARKS if re.search(name, rule, re.IGNORECASE) for mark in marks)


def read_item(item: str, quoted: Sequence[str]) -> tuple[str, ...]:
    """The words or marks that one item of a list bans."""
    if re.fullmatch(PLACEHOLDER, item):
        return (quoted[ord(item) - FIRST_PLACEHOLDER],)
    named = next((marks for name, marks in MARKS if re.fullmatch(name, item, re.IGNORECASE)), None)
    return named or (item,)


def keep_longest_names(names: list[str]) -> tuple[str, ...]:
    """The names that are not part of another one in the list."""
    return tuple(dict.fromkeys(name for name in names if not any(name != other and name in other for other in names)))


def make_person(found: Sequence[tuple[str, str]], bans: int) -> NarrativePerson | None:
    """The check of a rule that names one person, and perhaps bans it; nobody can check that nobody is he or she."""
    if len(found) != 1 or bans > 1:
        return None
    person = PERSONS[(found[0][0] or found[0][1]).lower()]
    return None if bans and person == "third" else NarrativePerson(person=person, is_excluded=bool(bans))
