"""What the command line prints: sentences in the language of this run, times and JSON (ppl-4).

The language is the person's choice (`FABULA_LANGUAGE`), else that of the project that the command opened, else that
of the locale, else English. Control characters are never printed, because a model or a save may contain some.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import format_time as format_time
from fabula.core.messages import ENGLISH, Sentence, count_in, join_names, list_languages, message, show

if TYPE_CHECKING:
    from rich.text import Text

    from fabula.core.fragment import Role
    from fabula.core.view import Language

LANGUAGE_VARIABLE = "FABULA_LANGUAGE"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_language: ContextVar[str] = ContextVar("language", default=ENGLISH)
_chapter_word: ContextVar[str] = ContextVar("chapter_word", default="")


def choose_language() -> None:
    """Begin a run in the language that the person chose, else in that of the locale."""
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    _chapter_word.set("")
    _language.set(next((language for language in list_languages() if locale.startswith(language)), ENGLISH))
    chosen = os.environ.get(LANGUAGE_VARIABLE)
    if chosen and chosen not in list_languages():
        known = join_names(list_languages())
        raise invalid_request(
            "FABULA_LANGUAGE is {chosen!r}, which is no language of Fabula. There are: {known}.",
            chosen=chosen,
            known=known,
        )
    if chosen:
        _language.set(chosen)


def use_project_language(language: str) -> None:
    """Print in the language of a project from now on, unless the person chose another one."""
    if not has_chosen_language():
        _language.set(language)


def name_role(role: Role) -> str:
    """Name who said a message that nobody is named for."""
    names = {"user": message("you"), "assistant": message("model"), "system": message("narrator")}
    return render(names[role])


def has_chosen_language() -> bool:
    """Has the person chosen the language of this run, whatever the project's is?"""
    return bool(os.environ.get(LANGUAGE_VARIABLE))


def use_chapter_word(word: str) -> None:
    """Count chapters from now on in the word that a book has for its own, such as 回."""
    _chapter_word.set(word)


def current_language() -> str:
    """Return the language of this run, with the word that the book at hand has for its chapters."""
    return count_in(_language.get(), _chapter_word.get())


def language_of_texts() -> Language:
    """Return the language of this run as templates and titles have it: that of a story."""
    return "zh" if _language.get() == "zh" else "en"


def render(value: object) -> str:
    """Return a message in the language of this run; anything else as it is."""
    return str(show(value, current_language(), on_command_line=True))


def translate(template: str, /, **values: object) -> str:
    """Return an English template, which must be a literal, with its values in the language of this run."""
    return render(Sentence(template, values))


def say(sentence: Sentence | str, /, **values: object) -> None:
    """Print a message, or a template with its values; a template must be a literal."""
    print_line(sentence if isinstance(sentence, Sentence) else Sentence(sentence, values))


def warn(sentence: Sentence | str, /, **values: object) -> None:
    """Print a message, or a template with its values, to the standard error."""
    print_line(sentence if isinstance(sentence, Sentence) else Sentence(sentence, values), file=sys.stderr)


def print_line(line: Sentence | str, *, file: TextIO | None = None) -> None:
    """Print a message, or a line of names, ids, codes and numbers, which no language changes."""
    print(printable(render(line)).rstrip(" "), file=file)


def invalid_request(template: str, /, **values: object) -> FabulaError:
    """Return the error for a command that makes no sense, with a template that must be a literal."""
    return FabulaError(Code.REQUEST_INVALID, Sentence(template, values))


def report(data: object, sentence: Sentence, as_json: bool) -> None:
    """Print what a command did: a schema as JSON, or a sentence."""
    if as_json:
        print_json(data)
    else:
        say(sentence)


def print_warnings(warnings: Iterable[Sentence | str]) -> None:
    """Print what a person should know of a result, one warning a line."""
    for warning in warnings:
        print_line(f"- {render(warning)}")


def describe_error(error: FabulaError) -> str:
    """Return an error as one line: its code, for programs, and its sentence."""
    return f"{error.code.value}: {render(error.message)}"


def print_json(data: object) -> None:
    """Print a schema, or a list of them, as readable JSON."""
    from fabula.workspace.schemas.schema import encode

    print(encode(data).decode())


def quote_name(name: str) -> str:
    """Return the name of a project or the like as it stands in a command that can be copied."""
    import shlex

    is_plain = name and not any(character in name for character in '"\\$`!') and name.isprintable()
    return f'"{name}"' if is_plain and shlex.quote(name) != name else shlex.quote(name)


def printable(text: str, *, instead: str = "") -> str:
    """Return a text without control characters: what a model or a save made up cannot steer the terminal."""
    return _CONTROL.sub(instead, text)


def print_text(text: Text) -> None:
    """Print a styled text: wrapped on a terminal; elsewhere its lines stay whole."""
    from rich.console import Console

    Console().print(text, soft_wrap=not sys.stdout.isatty())


def print_raw(text: str) -> None:
    """Print a text as it is where another program reads it, and without control characters on a terminal."""
    print(printable(text) if sys.stdout.isatty() else text)


def shorten(text: str, limit: int) -> str:
    """Return a text on one line, cut to a number of characters."""
    words = " ".join(text.split())
    return words if len(words) <= limit else f"{words[: limit - 1]}…"
