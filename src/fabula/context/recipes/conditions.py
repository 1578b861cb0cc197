"""Conditions: when a message of a preset exists at all (inj-6).

A message whose condition does not hold is not trimmed or moved: for this request it is not there, and
the budget never hears of it. What is looked at comes in with the call, and so does the state of what
sticks or rests; chance is drawn from names and counts, so that the same request always gives the same
answer. Effects count messages, not time: one that began at message 5 and lasts 3 holds at 6 and 7 as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from random import Random
from typing import Literal

import msgspec
from msgspec import Struct

from fabula.text.js_regex import Allowance, Pattern, Searched, TooMuchWorkError
from fabula.text.js_regex import pattern as read_pattern
from fabula.text.whole_words import as_a_word

LONGEST_KEYWORD = 200
MOST_KEYWORDS = 200
LONGEST_PATTERN = 1000
LOOKED_AT = 100_000  # characters of one text in which a pattern is looked for: its end
_SLASHED = re.compile(r"/(.+)/([gimsuy]*)", re.DOTALL)


class Condition(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """What must hold, all of it; what is left at its default asks for nothing."""

    keywords: tuple[str, ...] = ()
    logic: Literal["any", "all", "none"] = "any"
    pattern: str = ""
    case_sensitive: bool = False
    scan_depth: int | None = None  # newest messages looked at, the input being one; None: whatever is near
    min_messages: int | None = None
    max_messages: int | None = None
    modes: tuple[str, ...] = ()  # names of recipes, skills, modes of conversation
    models: tuple[str, ...] = ()  # names, with * for any rest
    probability: float = 100.0  # percent
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    group: str = ""  # of all that hold in a group, one is drawn
    group_weight: int = 100

    def flaw(self) -> str | None:
        """What is wrong with it, in words; None when it can be used."""
        if len(self.keywords) > MOST_KEYWORDS or any(len(word) > LONGEST_KEYWORD for word in self.keywords):
            return f"it has more than {MOST_KEYWORDS} keywords, or one longer than {LONGEST_KEYWORD} characters"
        if any(not word.strip() for word in self.keywords):
            return "one of its keywords is empty"
        counts = (self.scan_depth, self.min_messages, self.max_messages, self.sticky, self.cooldown, self.delay)
        if any(count is not None and not 0 <= count <= 1_000_000 for count in (*counts, self.group_weight)):
            return "its counts must be from 0 to 1,000,000"
        if self.min_messages is not None and self.max_messages is not None and self.min_messages > self.max_messages:
            return "it asks for more messages than it allows"
        if not 0 <= self.probability <= 100:
            return f"its probability is {self.probability}; it is a percentage, from 0 to 100"
        if len(self.pattern) > LONGEST_PATTERN:
            return f"its pattern is longer than {LONGEST_PATTERN} characters"
        made = _pattern(self.pattern, not self.case_sensitive) if self.pattern else None
        return f"its pattern cannot be used: {made}" if isinstance(made, str) else None


class Moment(Struct, frozen=True, kw_only=True):
    """What conditions look at: where the request stands and what was said."""

    project: str
    place: str  # the conversation, or the document
    said: Sequence[str] = ()  # the conversation with the input, oldest first
    near: Sequence[str] = ()
    modes: frozenset[str] = frozenset()
    model: str = ""
    timed: Mapping[str, int] = {}  # by message and condition: at how many messages it last came in

    @property
    def count(self) -> int:
        """How many messages there are, the input counting as one."""
        return len(self.said)


class Settled(Struct, frozen=True):
    """Which conditions hold, why the others do not, and what to remember."""

    holds: frozenset[str]
    unmet: Mapping[str, str]
    timed: Mapping[str, int]


def settle(conditions: Mapping[str, Condition], moment: Moment) -> Settled:
    """Judge every condition, by the name of its message."""
    unmet: dict[str, str] = {}
    kept: dict[str, int] = {}
    stuck: set[str] = set()
    holding: list[str] = []
    for name, condition in conditions.items():
        began = moment.timed.get(_mark(name, condition))
        lasts = None if began is None else moment.count - began
        if lasts is not None and 0 < lasts < condition.sticky:
            stuck.add(name)
            holding.append(name)
        elif lasts is not None and 0 < lasts < condition.sticky + condition.cooldown:
            unmet[name] = f"it rests until there are {moment.count - lasts + condition.sticky + condition.cooldown}"
            unmet[name] += f" messages, and there are {moment.count}"
        elif reason := _unmet(name, condition, moment):
            unmet[name] = reason
            continue
        else:
            holding.append(name)
            began = moment.count
        if began is not None and (condition.sticky or condition.cooldown):
            kept[_mark(name, condition)] = began
    for name, winner in _beaten(conditions, holding, stuck, moment).items():
        holding.remove(name)
        unmet[name] = f"{winner} was drawn from the group {conditions[name].group!r}"
        kept.pop(_mark(name, conditions[name]), None)
    return Settled(frozenset(holding), unmet, kept)


def _mark(name: str, condition: Condition) -> str:
    """By which its effects are known; an edit gives it another."""
    return f"{name}#{sha256(msgspec.json.encode(condition)).hexdigest()[:12]}"


def _unmet(name: str, condition: Condition, moment: Moment) -> str | None:
    """Why a condition does not hold, the cheapest question first."""
    count = moment.count
    if count < condition.delay:
        return f"it waits for {condition.delay} messages, and there are {count}"
    if condition.min_messages is not None and count < condition.min_messages:
        return f"it asks for {condition.min_messages} messages or more, and there are {count}"
    if condition.max_messages is not None and count > condition.max_messages:
        return f"it asks for {condition.max_messages} messages or fewer, and there are {count}"
    if condition.modes and moment.modes.isdisjoint(condition.modes):
        return f"it is for {', '.join(condition.modes)}, and this is {', '.join(sorted(moment.modes))}"
    if condition.models and not any(fnmatchcase(moment.model, model) for model in condition.models):
        return f"it is for {', '.join(condition.models)}, and the model is {moment.model}"
    unsaid = _unsaid(condition, moment)
    if unsaid is not None:
        return unsaid
    if condition.probability < 100:
        drawn = _chance(moment, name).random() * 100
        if drawn >= condition.probability:
            return f"chance drew {drawn:.0f}, and it comes in below {condition.probability:g}"
    return None


def _unsaid(condition: Condition, moment: Moment) -> str | None:
    if not condition.keywords and not condition.pattern:
        return None
    depth = condition.scan_depth
    texts = moment.near if depth is None else moment.said[max(len(moment.said) - depth, 0) :]
    fold = not condition.case_sensitive
    if condition.keywords:
        looked_in = [text.lower() for text in texts] if fold else texts
        found = [word for word in condition.keywords if _mentioned(word.strip(), looked_in, fold)]
        if condition.logic == "none" and found:
            return f"{found[0]!r} is mentioned"
        if condition.logic == "any" and not found:
            return "none of its keywords is mentioned"
        if condition.logic == "all" and len(found) < len(condition.keywords):
            return f"{next(word for word in condition.keywords if word not in found)!r} is not mentioned"
    return _unmatched(_pattern(condition.pattern, fold), texts) if condition.pattern else None


def _mentioned(word: str, texts: Sequence[str], fold: bool) -> bool:
    wanted = word.lower() if fold else word
    return any(as_a_word(text, wanted) for text in texts)


def _unmatched(looked_for: Pattern | str, texts: Sequence[str]) -> str | None:
    if isinstance(looked_for, str):
        return f"its pattern cannot be used: {looked_for}"
    allowance = Allowance()
    try:
        found = any(looked_for.found_in(Searched(text[-LOOKED_AT:]), allowance) for text in texts)
    except TooMuchWorkError:
        return "looking for its pattern here would take too long, so it counts as not found"
    return None if found else "its pattern does not occur"


def _beaten(
    conditions: Mapping[str, Condition], holding: Sequence[str], stuck: set[str], moment: Moment
) -> dict[str, str]:
    """Those of a group that another one beat; what sticks is never beaten by what does not."""
    groups: dict[str, list[str]] = {}
    for name in holding:
        if conditions[name].group:
            groups.setdefault(conditions[name].group, []).append(name)
    beaten: dict[str, str] = {}
    for group, names in groups.items():
        running = [name for name in names if name in stuck] or names
        weights = [conditions[name].group_weight for name in running]
        draw = _chance(moment, f"group:{group}")
        winner = draw.choices(running, weights)[0] if any(weights) else running[0]
        beaten |= {name: winner for name in names if name != winner}
    return beaten


def _chance(moment: Moment, name: str) -> Random:
    return Random("\x1f".join((moment.project, moment.place, str(moment.count), name)))


def _pattern(written: str, fold: bool) -> Pattern | str:
    """A pattern, bare or between slashes with flags of its own; a text where it is none."""
    slashed = _SLASHED.fullmatch(written)
    return read_pattern(slashed[1], slashed[2]) if slashed else read_pattern(written, "i" if fold else "")
