"""The nouns of recaps: the rules by which they are made, what a digest is given, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from fabula.conversation.tables import Origin
from fabula.core.errors import Code, FabulaError
from fabula.core.view import Language

Sort = Literal["summary", "recap"]
State = Literal["fresh", "stale"]


class Rules(Struct, frozen=True, kw_only=True):
    """When summaries and recaps are made, and how long they may be."""

    on: bool = True
    every: int = 5  # rounds of one summary
    stack: int = 10  # rounds after which summaries become one recap
    most: int = 20  # recaps that are kept; 1: the newest only; 0 or less: all
    longest: int = 1200  # characters of one
    seconds: float = 5.0  # that a digest may take


class Line(Struct, frozen=True):
    """Something said, and by whom; in what a recap is made of, a summary, said by nobody."""

    speaker: str
    text: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


class Material(Struct, frozen=True, kw_only=True):
    """What is to be told in short."""

    sort: Sort
    lines: tuple[Line, ...]
    earlier: str  # the recap before it, for whoever has to know what it follows on from; empty where there is none
    language: Language
    length: int  # characters that the answer may have
    seconds: float  # that it may take

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(map(str, self.lines))


Digest = Callable[[Material], str]  # may raise a FabulaError


class Kept(Struct, frozen=True, kw_only=True):
    """A summary or a recap as people see it."""

    id: str
    sort: Sort
    text: str
    created_at: str
    rounds: tuple[int, ...]
    origin: Origin
    state: State
    version: int

    @property
    def first_round(self) -> int:
        """Where it begins."""
        return self.rounds[0] if self.rounds else 0

    @property
    def last_round(self) -> int:
        """Where it ends."""
        return self.rounds[-1] if self.rounds else 0


class Failure(Struct, frozen=True):
    """Why some rounds were not told."""

    sort: Sort
    rounds: tuple[int, ...]
    code: Code
    sentence: str


class Refreshed(Struct, kw_only=True):
    """What became of the rounds that were to be told."""

    made: list[Kept] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    overtaken: list[tuple[int, ...]] = field(default_factory=list)  # changed, or told by somebody else, meanwhile
    left: bool = False  # there is more to tell than one refresh takes upon itself
    off: bool = False  # recaps are switched off


def _whole(low: int, high: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


# The settings: the rule each is for, what it may be, and that in words.
SETTINGS: Mapping[str, tuple[str, Callable[[object], bool], str]] = {
    "history.recaps": ("on", lambda value: isinstance(value, bool), "true or false"),
    "history.summaryEveryNRounds": ("every", _whole(1, 1000), "a whole number from 1 to 1000"),
    "history.recapUpdateEveryRounds": ("stack", _whole(1, 10_000), "a whole number from 1 to 10000"),
    "history.recapMaxEntries": ("most", _whole(-10_000, 10_000), "a whole number up to 10000"),
    "history.recapMaxChars": ("longest", _whole(40, 20_000), "a whole number from 40 to 20000"),
    "budget.maxLatencyMs": ("seconds", _whole(100, 600_000), "a whole number from 100 to 600000"),
}


def check_setting(name: str, value: object) -> None:
    """Refuse a value that the setting cannot have."""
    known = SETTINGS.get(name)
    if known is None:
        raise FabulaError(
            Code.SETTING_INVALID,
            f"{name!r} is no setting of recaps. There are: {', '.join(SETTINGS)}. Nothing was changed.",
        )
    if not known[1](value):
        raise FabulaError(Code.SETTING_INVALID, f"{name} is {known[2]}, not {value!r}. Nothing was changed.")


def rules_from(values: Mapping[str, Any]) -> tuple[Rules, tuple[str, ...]]:
    """The rules that settings make, and which of them make no sense and count as not set."""
    chosen: dict[str, Any] = {}
    strange = []
    for name, (rule, sound, _) in SETTINGS.items():
        if name not in values:
            continue
        value = values[name]
        if sound(value):
            chosen[rule] = value / 1000 if rule == "seconds" else value
        else:
            strange.append(name)
    return Rules(**chosen), tuple(strange)
