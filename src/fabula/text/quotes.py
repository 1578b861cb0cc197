"""Quotes: lines of conversations as prompts show them, and the heading of those that were said earlier (cnv-8)."""

from __future__ import annotations

from functools import lru_cache

from fabula.core.ids import read_local_day
from fabula.core.messages import Sentence, join_names, message
from fabula.text.truncation import shorten_to_line

MAX_TITLE = 60  # characters of a title, or of the names of those who talked
_LINE = message("{name}: {text}")


def render_line(name: str, text: str, language: str) -> str:
    """Return what somebody says with the name before it, as a language writes that; without a name, the text alone."""
    return Sentence(_LINE.template, {"name": name, "text": text}).render(language) if name else text


def head_conversation(language: str, said_at: str, title: str = "", names: tuple[str, ...] = ()) -> str:
    """Return the heading of lines that were said in another conversation: its title, or who talked, and the day."""
    return _render_heading(language, read_local_day(said_at), title, names)


def head_own_conversation(language: str, said_at: str) -> str:
    """Return the heading of lines that were said earlier in the conversation of the prompt."""
    return _render_own_heading(language, read_local_day(said_at))


_Day = tuple[int, int, int] | None


@lru_cache(maxsize=1 << 10)
def _render_heading(language: str, day: _Day, title: str, names: tuple[str, ...]) -> str:
    called = shorten_to_line(title or (join_names(names).render(language) if names else ""), MAX_TITLE)
    if called and day:
        heading = message("[Said before, in the conversation “{title}”, {day}]", title=called, day=_name_day(day))
    elif called:
        heading = message("[Said before, in the conversation “{title}”]", title=called)
    elif day:
        heading = message("[Said before, in another conversation, {day}]", day=_name_day(day))
    else:
        heading = message("[Said before, in another conversation]")
    return heading.render(language)


@lru_cache(maxsize=1 << 10)
def _render_own_heading(language: str, day: _Day) -> str:
    if day:
        return message("[Said earlier in this conversation, {day}]", day=_name_day(day)).render(language)
    return message("[Said earlier in this conversation]").render(language)


def _name_day(day: tuple[int, int, int]) -> Sentence:
    year, month, number = day
    return message("{year}-{month:02}-{day:02}", year=year, month=month, day=number)
