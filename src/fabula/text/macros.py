"""Macros: placeholders that cards, personas, greetings, presets and lorebooks share (inj-3).

`{{char}}` and `{{user}}` are names, `{{random::a::b}}` and `{{roll:2d6}}` are drawn by a seed, `{{date}}` and
`{{time}}` come from the moment of the request, `{{setvar::mood::calm}}` and `{{getvar::mood}}` keep values from one
request to the next. A macro that means nothing here stays as it is written, and its name is reported.

The innermost macro is expanded first, and what a macro becomes is never read again. Nesting, growth and variables are
bounded, so the work is proportional to the text. Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from random import Random

from msgspec import Struct

from fabula.core.messages import Sentence, message, plural

MAX_NESTING = 16
MAX_GROWTH = 100_000  # characters that the macros of one text may add to it
MAX_VARIABLES = 200
MAX_VARIABLE_CHARACTERS = 5_000
MAX_DICE, MAX_SIDES = 100, 1_000_000
_MAX_SHOWN_NAME = 40

_TOKEN = re.compile(r"\{\{|\}\}|<(?:user|bot|char|charifnotgroup|group)>", re.IGNORECASE)
_NAME_MACRO = re.compile(r"\{\{\s*(user|char)\s*\}\}|<(user|bot|char)>", re.IGNORECASE)
_CALL = re.compile(r"([a-z_]\w*(?:[+-]\d{1,2}(?::\d\d)?)?)(?:(::?)|(?=\s)|$)", re.IGNORECASE)
_DICE = re.compile(r"(\d{0,3})d(\d{1,7})(?:([+-])(\d{1,7}))?|(\d{1,7})", re.IGNORECASE)
_COMMENT = re.compile(r"\s{0,8}//")
_UTC_OFFSET = re.compile(r"time_utc([+-]\d{1,2})")
_CHANGING = re.compile(
    r"\{\{\s*(?:random|roll|time|date|weekday|isotime|isodate|datetimeformat|idle_?duration|last|firstincluded|input"
    r"|getvar|incvar|decvar)",
    re.IGNORECASE,
)
_TRIM = "\ue000trim\ue000"  # a mark in place of {{trim}} until the text is complete
_WEEKDAYS = (
    message("Monday"),
    message("Tuesday"),
    message("Wednesday"),
    message("Thursday"),
    message("Friday"),
    message("Saturday"),
    message("Sunday"),
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)

FindText = Callable[[str], str | None]  # the text of a macro by its name in lower case; None where it has none


def _find_nothing(name: str) -> None:
    return None


class MacroValues(Struct, frozen=True, kw_only=True):
    """What macros stand for in one request; an empty name leaves its macro as it is written."""

    user: str = ""
    char: str = ""
    group: tuple[str, ...] = ()  # the characters who take part, the player not among them
    now: datetime | None = None
    last_at: datetime | None = None  # when the last message was recorded
    language: str = "en"
    place_seed: str = ""  # the same for every request of one conversation or document
    request_seed: str = ""
    find_text: FindText = _find_nothing


def has_macros(text: str) -> bool:
    """Return whether a text may contain macros."""
    return "{{" in text or "<" in text


def is_changing(text: str) -> bool:
    """Return whether a text has macros whose value may change from one request to the next: times, chance, variables.

    Such a text has no place in the part of a prompt that is to stay the same.
    """
    return "{{" in text and _CHANGING.search(text) is not None


def split_at_macros(text: str) -> list[str]:
    """Return what stands before, between and behind the macros of a text; the text alone where it has none."""
    parts, depth, start = list[str](), 0, 0
    for found in _TOKEN.finditer(text):
        step = {"{{": 1, "}}": -1}.get(found[0], 0)
        if depth + step < 0:  # it closes nothing
            continue
        if depth == 0:
            parts.append(text[start : found.start()])
        depth += step
        if depth == 0:
            start = found.end()
    return [*parts, text[start:] if depth == 0 else ""]


def fill_in_names(text: str, user: str, char: str) -> str:
    """Replace the macros of the two names, and nothing else; a name that is empty leaves its macro."""
    if not has_macros(text):
        return text
    names = {"user": user, "char": char, "bot": char}
    return _NAME_MACRO.sub(lambda found: names[(found[1] or found[2]).lower()] or found[0], text)


class MacroExpander:
    """Expands the macros of the texts of one request, each text once, so that a variable is never counted up twice."""

    def __init__(self, values: MacroValues | None = None, variables: Mapping[str, str] | None = None) -> None:
        self.values = values or MacroValues()
        self.variables = dict(variables or {})
        self.unknown: dict[str, None] = {}  # names of macros that were left as they are, in the order met
        self._expanded: dict[tuple[str, str, str | None], str] = {}

    def expand(
        self, text: str, *, char: str = "", original: str | None = None, find_text: FindText | None = None
    ) -> str:
        """Return a text with its macros expanded.

        `char` is whose text it is, by default the character who speaks; `original` is what the text replaces.
        """
        if not has_macros(text):
            return text
        key = (text, char, original)
        expanded = self._expanded.get(key)
        if expanded is None:
            expansion = _Expansion(self, text, char or self.values.char, original, find_text or _find_nothing)
            expanded = self._expanded[key] = expansion.run()
        return expanded


class _Expansion:
    """The expansion of one text."""

    def __init__(
        self, expander: MacroExpander, text: str, char: str, original: str | None, find_text: FindText
    ) -> None:
        self._expander = expander
        self._values = expander.values
        self._text = text
        self._char = char
        self._original = original
        self._find_text = find_text
        self._number = 0  # of the macro in the text
        self._growth = 0

    def run(self) -> str:
        text = self._text
        frames: list[list[str]] = [[]]  # the text outside, then what stands inside each open macro
        literal = 0  # macros open beyond the depth that is read, or inside a comment
        in_comment = False
        at = 0
        for token in _TOKEN.finditer(text):
            frames[-1].append(text[at : token.start()])
            at, found = token.end(), token[0]
            if found == "{{":
                if len(frames) > MAX_NESTING or in_comment:
                    literal += 1
                    frames[-1].append(found)
                else:
                    frames.append([])
                    in_comment = _COMMENT.match(text, at) is not None
            elif found == "}}":
                if literal or len(frames) == 1:
                    literal = max(literal - 1, 0)
                    frames[-1].append(found)
                else:
                    body, in_comment = "".join(frames.pop()), False
                    frames[-1].append(self._replace(body))
            else:
                frames[-1].append(self._find_name(found[1:-1].lower()) or found)
        frames[-1].append(text[at:])
        while len(frames) > 1:
            rest = "".join(frames.pop())
            frames[-1] += ["{{", rest]
        return _apply_trims("".join(frames[0]))

    def _replace(self, body: str) -> str:
        """Return what a macro becomes: its value, or the macro as it is written."""
        self._number += 1
        brace = "{" if body.startswith("{") else ""  # of {{{char}}}, the third one is text
        value = self._evaluate(body.removeprefix("{"))
        if value is None or self._growth + len(value) > MAX_GROWTH:
            name = body.strip().partition(":")[0].strip()
            self._expander.unknown[name[:_MAX_SHOWN_NAME]] = None
            return f"{{{{{body}}}}}"
        self._growth += len(value)
        return brace + value

    def _evaluate(self, body: str) -> str | None:
        body = body.strip()
        if body.startswith("//"):
            return ""
        call = _CALL.match(body)
        if call is None:
            return None
        name, rest = call[1].lower(), body[call.end() :]
        single = [rest.strip()] if rest.strip() else []
        arguments = rest.split("::") if call[2] == "::" else single
        handler = _HANDLERS.get(name)
        if handler is not None:
            return handler(self, arguments)
        if name == "original":
            return self._original
        offset = _UTC_OFFSET.fullmatch(name)
        if offset is not None:
            hours = int(offset[1])
            return self._format_time(timezone(timedelta(hours=hours))) if abs(hours) < 24 else None
        return None if arguments else self._find_name(name)

    def _find_name(self, name: str) -> str | None:
        """Return what a macro without arguments stands for: a name, or a text of the character or the conversation."""
        values, char = self._values, self._char
        match name:
            case "user":
                return values.user or None
            case "char" | "bot":
                return char or None
            case "group" | "groupnotmuted" | "charifnotgroup":
                return (", ".join(values.group) if len(values.group) > 1 else char) or None
            case "notchar":
                return ", ".join(one for one in (*values.group, values.user) if one and one != char) or None
        text = self._find_text(name)
        text = values.find_text(name) if text is None else text
        return None if text is None else fill_in_names(text, values.user, char)

    # What each macro does; None leaves it as it is written.

    def _draw(self, arguments: Sequence[str]) -> str | None:
        return self._choose(arguments, f"{self._values.request_seed}\x1f{self._text}\x1f{self._number}")

    def _pick(self, arguments: Sequence[str]) -> str | None:
        return self._choose(arguments, f"{self._values.place_seed}\x1f{self._text}\x1f{self._number}")

    def _choose(self, arguments: Sequence[str], seed: str) -> str | None:
        if len(arguments) == 1:
            arguments = [part.replace("\0", ",") for part in arguments[0].replace("\\,", "\0").split(",")]
        return Random(seed).choice([one.strip() for one in arguments]) if arguments else None

    def _roll(self, arguments: Sequence[str]) -> str | None:
        dice = _DICE.fullmatch(arguments[0].strip()) if len(arguments) == 1 else None
        if dice is None:
            return None
        count, sides = (1, int(dice[5])) if dice[5] else (int(dice[1] or 1), int(dice[2]))
        if not (1 <= count <= MAX_DICE and 1 <= sides <= MAX_SIDES):
            return None
        random = Random(f"{self._values.request_seed}\x1f{self._text}\x1f{self._number}")
        added = int(f"{dice[3]}{dice[4]}") if dice[3] else 0
        return str(sum(random.randint(1, sides) for _ in range(count)) + added)

    def _format_time(self, zone: timezone | None = None) -> str | None:
        now = self._values.now
        if now is None:
            return None
        now = now.astimezone(zone) if zone is not None else now
        if self._values.language == "zh":
            return f"{now.hour}:{now.minute:02}"
        return f"{now.hour % 12 or 12}:{now.minute:02} {'AM' if now.hour < 12 else 'PM'}"

    def _time(self, arguments: Sequence[str]) -> str | None:
        return None if arguments else self._format_time()

    def _date(self, arguments: Sequence[str]) -> str | None:
        now = self._values.now
        if now is None or arguments:
            return None
        if self._values.language == "zh":
            return f"{now.year}年{now.month}月{now.day}日"
        return f"{_MONTHS[now.month - 1]} {now.day}, {now.year}"

    def _weekday(self, arguments: Sequence[str]) -> str | None:
        now = self._values.now
        return None if now is None or arguments else _WEEKDAYS[now.weekday()].render(self._values.language)

    def _iso_time(self, arguments: Sequence[str]) -> str | None:
        now = self._values.now
        return None if now is None or arguments else f"{now.hour:02}:{now.minute:02}"

    def _iso_date(self, arguments: Sequence[str]) -> str | None:
        now = self._values.now
        return None if now is None or arguments else f"{now.year:04}-{now.month:02}-{now.day:02}"

    def _idle_duration(self, arguments: Sequence[str]) -> str | None:
        values = self._values
        if values.now is None or arguments:
            return None
        if values.last_at is None:
            return message("just now").render(values.language)
        elapsed = values.now.astimezone(UTC) - values.last_at.astimezone(UTC)
        return describe_duration(elapsed).render(values.language)

    def _new_line(self, arguments: Sequence[str]) -> str | None:
        return _repeat("\n", arguments)

    def _space(self, arguments: Sequence[str]) -> str | None:
        return _repeat(" ", arguments)

    def _trim(self, arguments: Sequence[str]) -> str | None:
        return None if arguments else _TRIM

    def _nothing(self, arguments: Sequence[str]) -> str | None:
        return ""

    def _get_variable(self, arguments: Sequence[str]) -> str | None:
        return self._expander.variables.get(arguments[0].strip(), "") if len(arguments) == 1 else None

    def _set_variable(self, arguments: Sequence[str]) -> str | None:
        if len(arguments) < 2:
            return None
        return "" if self._store(arguments[0], "::".join(arguments[1:])) else None

    def _add_to_variable(self, arguments: Sequence[str]) -> str | None:
        if len(arguments) < 2:
            return None
        value, added = self._expander.variables.get(arguments[0].strip(), ""), "::".join(arguments[1:])
        first, second = _read_number(value or "0"), _read_number(added)
        result = value + added if first is None or second is None else _show_number(first + second)
        return "" if self._store(arguments[0], result) else None

    def _count_up(self, arguments: Sequence[str]) -> str | None:
        return self._count(arguments, 1)

    def _count_down(self, arguments: Sequence[str]) -> str | None:
        return self._count(arguments, -1)

    def _count(self, arguments: Sequence[str], step: int) -> str | None:
        number = _read_number(self._expander.variables.get(arguments[0].strip(), "0")) if len(arguments) == 1 else None
        if number is None:
            return None
        value = _show_number(number + step)
        return value if self._store(arguments[0], value) else None

    def _store(self, name: str, value: str) -> bool:
        """Keep a variable; False where it is too long, has no name, or there are too many."""
        variables, name = self._expander.variables, name.strip()
        is_full = name not in variables and len(variables) >= MAX_VARIABLES
        if not name or is_full or len(name) + len(value) > MAX_VARIABLE_CHARACTERS:
            return False
        variables[name] = value
        return True


_HANDLERS: Mapping[str, Callable[[_Expansion, Sequence[str]], str | None]] = {
    "random": _Expansion._draw,
    "pick": _Expansion._pick,
    "roll": _Expansion._roll,
    "time": _Expansion._time,
    "date": _Expansion._date,
    "weekday": _Expansion._weekday,
    "isotime": _Expansion._iso_time,
    "isodate": _Expansion._iso_date,
    "idle_duration": _Expansion._idle_duration,
    "idleduration": _Expansion._idle_duration,
    "newline": _Expansion._new_line,
    "space": _Expansion._space,
    "trim": _Expansion._trim,
    "noop": _Expansion._nothing,
    "comment": _Expansion._nothing,
    "getvar": _Expansion._get_variable,
    "setvar": _Expansion._set_variable,
    "addvar": _Expansion._add_to_variable,
    "incvar": _Expansion._count_up,
    "decvar": _Expansion._count_down,
}


def describe_duration(duration: timedelta) -> Sentence:
    """Describe a duration in its largest unit."""
    seconds = max(int(duration.total_seconds()), 0)
    if seconds < 60:
        return message("just now")
    if seconds < 3600:
        return plural(seconds // 60, "{count} minute", "{count} minutes")
    if seconds < 86_400:
        return plural(seconds // 3600, "{count} hour", "{count} hours")
    return plural(seconds // 86_400, "{count} day", "{count} days")


def _apply_trims(text: str) -> str:
    """Remove the marks of {{trim}} with the line breaks on both sides."""
    if _TRIM not in text:
        return text
    first, *others = text.split(_TRIM)
    middle = [piece.strip("\n") for piece in others[:-1]]
    return "".join([first.rstrip("\n"), *middle, others[-1].lstrip("\n")])


def _repeat(character: str, arguments: Sequence[str]) -> str | None:
    if not arguments:
        return character
    count = arguments[0].strip()
    return character * int(count) if len(arguments) == 1 and count.isdecimal() and len(count) < 4 else None


def _read_number(text: str) -> float | None:
    text = text.strip()
    return float(text) if len(text) < 20 and re.fullmatch(r"[+-]?\d+(?:\.\d+)?", text) else None


def _show_number(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)
