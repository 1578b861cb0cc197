"""Sentences for people: written in English in the code, shown in the language of the reader (ppl-4).

A `Sentence` is an English template with its values. Code that detects a problem does not know who will read about it,
so the message is put into a language where it is shown. `translations/` holds one file for each other language, from
English template to translation; a test finds every template in the code and fails when a translation is missing.

Commands and options are for readers at the command line alone. What others should do instead stands beside them in an
`Advice`; whoever shows a sentence there says so, and everybody else gets the other half.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

ENGLISH = "en"
_FOLDER = Path(__file__).with_name("translations")

_QUOTED = re.compile(r"“\{(\w+)\}”")  # a value in quotes: the quotes inside it are single ones
_CHAPTERS = ("zh", re.compile("章(?!节)"))  # the language that counts in words of the book, and the usual word
_INNER_QUOTES = str.maketrans("“”", "‘’")

Translations = Mapping[str, str | Mapping[str, str]]


class Sentence(Struct, frozen=True):
    """A sentence that can be shown in any language Fabula speaks."""

    template: str
    values: Mapping[str, Any] = {}
    singular: str = ""  # the template for a count of one, where English has another

    def render(self, language: str = ENGLISH, *, on_command_line: bool = False) -> str:
        """Return the sentence in a language; messages among its values are put into that language too."""
        values = {name: show(value, language, on_command_line=on_command_line) for name, value in self.values.items()}
        is_one = bool(self.singular) and self.values["count"] == 1
        template = _translate(self, is_one, language)
        for name in _QUOTED.findall(template) if "“" in template else ():
            if isinstance(value := values[name], str):
                values[name] = value.translate(_INNER_QUOTES)
        return template.format_map(values)

    def __str__(self) -> str:
        return self.render()

    def __hash__(self) -> int:
        return hash(self.template)


class Advice(Struct, frozen=True):
    """What to do next, as a value of a sentence: with commands and options, and for every other reader."""

    command: Sentence
    elsewhere: Sentence


def message(template: str, /, **values: object) -> Sentence:
    """Make a message of an English template, which must be a literal, and the values that it names."""
    return Sentence(template, values)


def advise(command: Sentence, elsewhere: Sentence) -> Sentence:
    """Make a message that names commands or options at the command line, and says what to do elsewhere."""
    return message("{advice}", advice=Advice(command, elsewhere))


def plural(count: int, one: str, other: str, /, **values: object) -> Sentence:
    """Make a message about a number of things; both templates may name `count`."""
    return Sentence(other, {"count": count, **values}, one)


def show(value: object, language: str, *, on_command_line: bool = False) -> Any:
    """Return a value as it stands in a sentence of that language: messages and lists of names as text."""
    if isinstance(value, Advice):
        value = value.command if on_command_line else value.elsewhere
    if isinstance(value, Sentence):
        return value.render(language, on_command_line=on_command_line)
    if isinstance(value, tuple):
        shown = (str(show(one, language, on_command_line=on_command_line)) for one in value)
        return message(", ").render(language).join(shown)
    return value


def join_names(names: Iterable[str | Sentence]) -> Sentence:
    """Return names with commas between them, as the language writes them."""
    return message("{names}", names=tuple(names))


def join_alternatives(names: Sequence[str | Sentence]) -> Sentence:
    """Return names as a person lists alternatives: "a, b or c"."""
    *others, last = names
    return message("{first} or {last}", first=tuple(others), last=last) if others else join_names(names)


def is_word(typed: str, word: Sentence) -> bool:
    """Is what a person typed this word, in any language that Fabula speaks?"""
    return typed in (word.render(language) for language in list_languages())


def count_in(language: str, chapter_word: str) -> str:
    """Return a language in which chapters are called what a book calls its own: 回 in place of 章."""
    return f"{language}@{chapter_word}" if language == _CHAPTERS[0] and chapter_word else language


@cache
def load_translations(language: str) -> Translations:
    """Return the translations into one language by English template; none for English and for unknown languages."""
    language, _, chapter_word = language.partition("@")
    if language not in list_languages() or language == ENGLISH:
        return {}
    if chapter_word:
        return {
            template: _rename_chapters(translation, chapter_word) if "chapter" in template.lower() else translation
            for template, translation in load_translations(language).items()
        }
    return msgspec.json.decode((_FOLDER / f"{language}.json").read_bytes(), type=dict[str, str | dict[str, str]])


def _rename_chapters(translation: str | Mapping[str, str], chapter_word: str) -> str | Mapping[str, str]:
    if isinstance(translation, str):
        return _CHAPTERS[1].sub(chapter_word, translation)
    return {form: _CHAPTERS[1].sub(chapter_word, text) for form, text in translation.items()}


@cache
def list_languages() -> tuple[str, ...]:
    """Return the languages that sentences can be shown in, English first."""
    return (ENGLISH, *sorted(path.stem for path in _FOLDER.glob("*.json")))


def _translate(sentence: Sentence, is_one: bool, language: str) -> str:
    translation = load_translations(language).get(sentence.template)
    if translation is None:
        return sentence.singular if is_one else sentence.template
    if isinstance(translation, str):
        return translation
    return translation["one" if is_one else "other"]
