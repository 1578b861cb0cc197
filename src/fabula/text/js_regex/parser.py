"""Parse JavaScript regular expressions into a syntax tree.

Keys of the form `/…/i` are JavaScript and would mean something else in Python: in JavaScript `\\w` and `\\d` are
ASCII, `$` is only the very end, `[]` never matches, and a `{` may stand for itself. So they are parsed by JavaScript's
grammar: the lenient one of browsers, or the strict one with the `u` flag. The syntax tree holds what decides whether
there is a match, and no more.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from fabula.core.messages import Sentence, message
from fabula.text.js_regex.unicode_properties import find_property

LAST_CODE_POINT = 0x10FFFF
Range = tuple[int, int]


class CharacterClass(Struct, frozen=True):
    """One character out of ranges and Unicode properties; a property is a name and whether it is negated."""

    ranges: tuple[Range, ...] = ()
    properties: tuple[tuple[str, bool], ...] = ()
    negated: bool = False


class Concatenation(Struct, frozen=True):
    """Parts that follow one another."""

    parts: tuple[Node, ...]


class Alternation(Struct, frozen=True):
    """One of several parts."""

    parts: tuple[Node, ...]


class Repetition(Struct, frozen=True):
    """A part repeated at least `minimum` and at most `maximum` times; None for no limit."""

    part: Node
    minimum: int
    maximum: int | None


class Lookaround(Struct, frozen=True):
    """A part that must, or must not, follow or precede a position."""

    part: Node
    ahead: bool
    negated: bool


class Boundary(Struct, frozen=True):
    """A condition on a position between characters: `^`, `$`, `b` or `B`."""

    kind: str


Node = CharacterClass | Concatenation | Alternation | Repetition | Lookaround | Boundary


def complement(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """All characters outside these ranges."""
    found, past = [], 0
    for low, high in sorted(ranges):
        if low > past:
            found.append((past, low - 1))
        past = max(past, high + 1)
    return (*found, (past, LAST_CODE_POINT)) if past <= LAST_CODE_POINT else tuple(found)


DIGIT: tuple[Range, ...] = ((48, 57),)
WORD: tuple[Range, ...] = ((48, 57), (65, 90), (95, 95), (97, 122))
SPACE: tuple[Range, ...] = (
    (9, 13),
    (32, 32),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
NEWLINE: tuple[Range, ...] = ((10, 10), (13, 13), (0x2028, 0x2029))
JS_WHITESPACE = "".join(
    chr(code) for low, high in SPACE for code in range(low, high + 1)
)  # the characters that JavaScript's trim removes

MAX_DEPTH = 100
MAX_LENGTH = 10_000  # characters of a pattern
_SETS = {"d": DIGIT, "w": WORD, "s": SPACE}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_QUANTIFIER = re.compile(r"(?:([*+?])|\{([0-9]+)(?:(,)([0-9]*))?\})\??")  # lazy ones match where greedy ones do
_BOUNDS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_LOOKAROUND = re.compile(r"\(\?(<?)([=!])")
_GROUP = re.compile(r"\((?:\?:|\?<([^\W\d]\w*|\$\w*)>|(?!\?))")
_ESCAPE = re.compile(
    r"(?P<set>[dDwWsS])|(?P<control>[tnvfr])|(?P<letter>c[A-Za-z])|(?P<code>x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"
    r"|(?P<digits>[0-9]+)|(?P<other>.)",
    re.DOTALL,
)
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_CODE_POINT = re.compile(r"\{0*([0-9a-fA-F]{1,6})\}")
_PROPERTY = re.compile(r"\{([A-Za-z_&]+)(?:=([A-Za-z_]+))?\}")


class RegexSyntaxError(Exception):
    """The text is no regular expression, or uses something that is not supported."""

    def __init__(self, problem: Sentence) -> None:
        super().__init__(problem)
        self.problem = problem


def parse_regex(source: str, flags: str) -> Node:
    """The syntax tree of a pattern; raises RegexSyntaxError where it is invalid or not supported."""
    if len(set(flags)) != len(flags) or set(flags) - set("gimsuy"):
        raise RegexSyntaxError(message("the flags {flags!r} are not known", flags=flags))
    if len(source) > MAX_LENGTH:
        raise RegexSyntaxError(message("it is longer than {limit:,} characters", limit=MAX_LENGTH))
    return _Parser(source, flags).parse()


class _Parser:
    """A recursive descent parser; each method parses one construct at the current position."""

    def __init__(self, source: str, flags: str) -> None:
        self.source, self.at, self.depth = source, 0, 0
        self.unicode, self.dot_matches_newline = "u" in flags, "s" in flags
        # The number of groups decides what \2 means; a class or an escape may contain a bracket.
        # A class that is not closed ends the pattern, so that no text is searched again from every bracket.
        bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]?", "", source, flags=re.DOTALL)
        self.group_count = len(re.findall(r"\((?!\?)|\(\?<(?![=!])", bare))
        self.has_named_groups = "(?<" in bare.replace("(?<=", "").replace("(?<!", "")
        self.group_names: set[str] = set()

    def parse(self) -> Node:
        node = self.alternation()
        if self.at < len(self.source):
            raise RegexSyntaxError(message("a closing bracket has no opening one"))
        return node

    def peek(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def take(self, text: str) -> bool:
        found = self.peek(text)
        self.at += len(text) if found else 0
        return found

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.source, self.at)
        self.at = found.end() if found else self.at
        return found

    def alternation(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RegexSyntaxError(message("brackets are nested more than {most} deep", most=MAX_DEPTH))
        parts = [self.concatenation()]
        while self.take("|"):
            parts.append(self.concatenation())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Alternation(tuple(parts))

    def concatenation(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self.quantified(*self.atom()))
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def quantified(self, node: Node, can_repeat: bool) -> Node:
        found = self.match(_QUANTIFIER)
        if found is None:
            return node
        if not can_repeat:
            raise RegexSyntaxError(_NOTHING_TO_REPEAT)
        if found[1]:
            return Repetition(node, *_BOUNDS[found[1]])
        minimum = _parse_number(found[2])
        maximum = _parse_number(found[4]) if found[4] else None if found[3] else minimum
        if maximum is not None and maximum < minimum:
            raise RegexSyntaxError(message("the first number of a quantifier is larger than the second"))
        return Repetition(node, minimum, maximum)

    def atom(self) -> tuple[Node, bool]:
        """The next atom, and whether a quantifier may follow it."""
        mark = self.source[self.at]
        if mark == "(":
            return self.group()
        if _QUANTIFIER.match(self.source, self.at):
            raise RegexSyntaxError(_NOTHING_TO_REPEAT)
        self.at += 1
        if mark in "^$":
            return Boundary(mark), False
        if mark == "[":
            return self.character_class(), True
        if mark == ".":
            return CharacterClass(() if self.dot_matches_newline else NEWLINE, negated=True), True
        if mark == "\\":
            for kind in "bB":
                if self.take(kind):
                    return Boundary(kind), False
            return self.escape(in_class=False), True
        if mark in "{}]" and self.unicode:
            raise RegexSyntaxError(message("{mark} stands alone", mark=mark))
        return _literal(ord(mark)), True

    def group(self) -> tuple[Node, bool]:
        lookaround = self.match(_LOOKAROUND)
        if lookaround:
            ahead, negated = not lookaround[1], lookaround[2] == "!"
            return Lookaround(self.group_body(), ahead, negated), ahead and not self.unicode
        group = self.match(_GROUP)
        if not group or group[1] in self.group_names:
            raise RegexSyntaxError(message("a group begins in a way that is not known, or its name is used twice"))
        if group[1]:
            self.group_names.add(group[1])
        return self.group_body(), True

    def group_body(self) -> Node:
        node = self.alternation()
        if not self.take(")"):
            raise RegexSyntaxError(message("a bracket is not closed"))
        return node

    def character_class(self) -> CharacterClass:
        negated = self.take("^")
        ranges: list[Range] = []
        properties: list[tuple[str, bool]] = []
        while not self.take("]"):
            first = self.class_member()
            if self.peek("-") and not self.peek("-]"):
                self.at += 1
                last = self.class_member()
                low, high = _single(first), _single(last)
                if low is None or high is None:
                    if self.unicode:
                        raise RegexSyntaxError(message("a range in square brackets has no end"))
                    both = (*first.ranges, (45, 45), *last.ranges)
                    first = CharacterClass(both, (*first.properties, *last.properties))
                elif high < low:
                    raise RegexSyntaxError(message("a range in square brackets runs backwards"))
                else:
                    first = CharacterClass(((low, high),))
            ranges += first.ranges
            properties += first.properties
        return CharacterClass(tuple(ranges), tuple(properties), negated)

    def class_member(self) -> CharacterClass:
        if self.at >= len(self.source):
            raise RegexSyntaxError(message("a square bracket is not closed"))
        self.at += 1
        mark = self.source[self.at - 1]
        return self.escape(in_class=True) if mark == "\\" else _literal(ord(mark))

    def escape(self, *, in_class: bool) -> CharacterClass:
        """The characters that an escape after a backslash means."""
        found = self.match(_ESCAPE)
        if found is None:
            raise RegexSyntaxError(message("it ends with a backslash"))
        text = found[0]
        match found.lastgroup:
            case "set":
                ranges = _SETS[text.lower()]
                return CharacterClass(ranges if text.islower() else complement(ranges))
            case "control":
                return _literal(_CONTROLS[text])
            case "letter":
                return _literal(ord(text[1]) % 32)
            case "code":
                return _literal(int(text[1:], 16))
            case "digits":
                return self.digit_escape(text, in_class)
        if text == "k" and not in_class and (self.unicode or self.has_named_groups):
            raise RegexSyntaxError(_REFERS_BACK)
        if text == "b":  # only in a class: elsewhere it is a boundary
            return _literal(8)
        if self.unicode:
            return self.unicode_escape(text, in_class)
        if text == "c":
            self.at -= 1
            return _literal(92)
        return _literal(ord(text))

    def unicode_escape(self, mark: str, in_class: bool) -> CharacterClass:
        """What an escape means with the `u` flag alone."""
        if mark in "pP":
            found = self.match(_PROPERTY)
            name = find_property(found[1], found[2]) if found else None
            if name is None:
                raise RegexSyntaxError(message("the property after \\{mark} is not known here", mark=mark))
            return CharacterClass(properties=((name, mark == "P"),))
        code_point = self.match(_CODE_POINT) if mark == "u" else None
        if code_point and int(code_point[1], 16) <= LAST_CODE_POINT:
            return _literal(int(code_point[1], 16))
        if mark not in _SYNTAX and not (in_class and mark == "-"):
            raise RegexSyntaxError(message("\\{mark} means nothing here", mark=mark))
        return _literal(ord(mark))

    def digit_escape(self, digits: str, in_class: bool) -> CharacterClass:
        """A character by its octal code; a number that refers to a group is refused."""
        if not in_class and digits[0] != "0" and (self.unicode or _parse_number(digits) <= self.group_count):
            raise RegexSyntaxError(_REFERS_BACK)
        if self.unicode:
            if digits != "0":
                raise RegexSyntaxError(message("\\{mark} means nothing here", mark=digits))
            return _literal(0)
        octal = _OCTAL.match(digits)
        self.at -= len(digits) - (octal.end() if octal else 1)
        return _literal(int(octal[0], 8) if octal else ord(digits[0]))


_NOTHING_TO_REPEAT = message("a quantifier has nothing before it that can be repeated")
_REFERS_BACK = message("it refers back to a group, which cannot be matched in bounded time")


def _parse_number(digits: str) -> int:
    return int(digits) if len(digits) < 10 else 10**9


@lru_cache(maxsize=1024)
def _literal(code: int) -> CharacterClass:
    return CharacterClass(((code, code),))


def _single(chars: CharacterClass) -> int | None:
    """The code of the single character of a class; None where it has several."""
    if len(chars.ranges) == 1 and not chars.properties and chars.ranges[0][0] == chars.ranges[0][1]:
        return chars.ranges[0][0]
    return None
