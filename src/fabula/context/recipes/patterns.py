"""Which patterns of a preset can be looked for in bounded time.

Python's matcher goes back and tries again, and a pattern can be written that it never comes back from.
So only patterns are taken where it cannot go far: one repetition without end, of single characters,
others of a few characters at most, groups that stand once or not at all. Whoever needs more has
keywords, or several messages.
"""

from __future__ import annotations

import re

LONGEST = 300
MOST_WAYS = 256  # in which all choices and bounded repetitions together can go
MOST_WAYS_ENDLESS = 16  # the same beside a repetition without end
_QUANTIFIER = re.compile(r"[*+?]|\{(\d{0,4})(,?)(\d{0,4})\}")
_ODD_IN_SET = ("[", "--", "&&", "~~", "||")


def pattern_flaw(pattern: str) -> str | None:
    """What is wrong with a pattern, in words; None when it can be used."""
    if len(pattern) > LONGEST:
        return f"its pattern is longer than {LONGEST} characters"
    problem = _slow(pattern)
    if problem is not None:
        return f"its pattern {problem}: keep to one * or +, of a single character or a set"
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"its pattern cannot be read: {error}"
    return None


def _slow(pattern: str) -> str | None:
    """What in a pattern could take for ever."""
    at, endless = 0, 0
    ways = [[0, 1]]  # of every open group: those of its finished choices, and of the one under way
    after = ""  # what a quantifier here would repeat: "one" character, a "group", or nothing
    while at < len(pattern):
        found = _QUANTIFIER.match(pattern, at) if after else None
        if found is not None and found[0] != "{}":
            least, most = _times(found)
            if after == "group" and (least, most) != (0, 1):
                return "repeats a group"
            endless += most is None
            ways[-1][1] *= 1 if most is None else most - least + 1
            at, after = found.end(), ""
            if pattern[at : at + 1] == "+":
                return "repeats a repetition"
            at += pattern[at : at + 1] == "?"
        else:
            _count(pattern[at], ways)
            step = _step(pattern, at)
            if isinstance(step, str):
                return step
            at, after = step
        if endless > 1 or sum(ways[-1]) > (MOST_WAYS_ENDLESS if endless else MOST_WAYS):
            return "can be tried in too many ways"
    return None


def _count(sign: str, ways: list[list[int]]) -> None:
    """Choices of a group add up; groups in a row multiply."""
    if sign == "(":
        ways.append([0, 1])
    elif sign == "|":
        ways[-1] = [sum(ways[-1]), 1]
    elif sign == ")" and len(ways) > 1:
        inner = sum(ways.pop())
        ways[-1][1] *= inner


def _times(found: re.Match[str]) -> tuple[int, int | None]:
    sign = found[0]
    if sign in "*+":
        return (0 if sign == "*" else 1), None
    if sign == "?":
        return 0, 1
    least = int(found[1] or 0)
    if not found[2]:
        return least, least
    return least, max(int(found[3]), least) if found[3] else None


def _step(pattern: str, at: int) -> tuple[int, str] | str:
    """Past one thing that can be repeated, or a mark between such things; a text when it is not allowed."""
    sign = pattern[at]
    if sign == "\\":
        if pattern[at + 1 : at + 2].isdigit():
            return "refers back"
        return at + 2, "" if pattern[at + 1 : at + 2] in ("b", "B", "A", "Z") else "one"
    if sign == "[":
        end = at + 1 + (pattern[at + 1 : at + 2] == "^")
        end += pattern[end : end + 1] == "]"
        while end < len(pattern) and pattern[end] != "]":
            end += 2 if pattern[end] == "\\" else 1
        if any(odd in pattern[at + 1 : end] for odd in _ODD_IN_SET):
            return "has a set within a set"
        return end + 1, "one"
    if sign == "(":
        if pattern.startswith("(?", at) and not pattern.startswith("(?:", at):
            return "looks ahead, back or at names"
        return at + (3 if pattern.startswith("(?:", at) else 1), ""
    if sign == ")":
        return at + 1, "group"
    return at + 1, "" if sign in "|^$" else "one"
