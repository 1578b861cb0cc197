"""Parse JavaScript regular expressions into a syntax tree.

Keys of the form `/…/i` are JavaScript and would mean something else in Python: in JavaScript `\\w` and `\\d` are
ASCII, `$` is only the very end, `[]` never matches, and a `{` may stand for itself. So they are parsed by JavaScript's
grammar: the lenient one of browsers, or the strict one with the `u` flag.
"""

from __future__ import annotations

import re

from fabula.text.js_regex.syntax_tree import (
    DIGIT,
    LAST_CODE_POINT,
    NEWLINE,
    SPACE,
    WORD,
    Alternation,
    Boundary,
    CharacterClass,
    Concatenation,
    Lookaround,
    Node,
    Range,
    Repetition,
    complement,
)
from fabula.text.js_regex.unicode_properties import find_property

MAX_DEPTH = 100
_SETS = {"d": DIGIT, "w": WORD, "s": SPACE}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_QUANTIFIER = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_NAME = re.compile(r"<([^\W\d]\w*|\$\w*)>")
_HEX = re.compile(r"[0-9a-fA-F]+")
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_PROPERTY = re.compile(r"\{([A-Za-z_&]+)(?:=([A-Za-z_]+))?\}")


class RegexSyntaxError(Exception):
    """The text is no regular expression, or uses something that is not supported."""


def parse_regex(source: str, flags: str) -> Node:
    """The syntax tree of a pattern; raises RegexSyntaxError where it is invalid or not supported."""
    if len(set(flags)) != len(flags) or set(flags) - set("gimsuy"):
        raise RegexSyntaxError(f"the flags {flags!r} make no sense")
    return _Parser(source, flags).parse()


class _Parser:
    """A recursive descent parser; each method parses one construct at the current position."""

    def __init__(self, source: str, flags: str) -> None:
        self.source, self.at, self.depth = source, 0, 0
        self.unicode, self.dot_matches_newline = "u" in flags, "s" in flags
        # The number of groups decides what \2 means; a class or an escape may contain a bracket.
        bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", source, flags=re.DOTALL)
        self.group_count = len(re.findall(r"\((?!\?)|\(\?<(?![=!])", bare))
        self.has_named_groups = "(?<" in bare.replace("(?<=", "").replace("(?<!", "")
        self.group_names: set[str] = set()

    def parse(self) -> Node:
        node = self.alternation()
        if self.at < len(self.source):
            raise RegexSyntaxError("a ) closes nothing")
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
            raise RegexSyntaxError(f"brackets stand more than {MAX_DEPTH} deep")
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
        bounds: tuple[int, int | None] | None = None
        for mark, meaning in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(mark):
                bounds = meaning
                break
        else:
            found = self.match(_QUANTIFIER)
            if found:
                minimum = _parse_number(found[1])
                bounds = (minimum, minimum if not found[2] else _parse_number(found[3]) if found[3] else None)
        if bounds is None:
            return node
        if not can_repeat:
            raise RegexSyntaxError("a quantifier stands behind nothing that can be repeated")
        if bounds[1] is not None and bounds[1] < bounds[0]:
            raise RegexSyntaxError("a quantifier counts backwards")
        self.take("?")  # lazy: changes where a match ends, not whether there is one
        return Repetition(node, *bounds)

    def atom(self) -> tuple[Node, bool]:
        """The next atom, and whether a quantifier may follow it."""
        mark = self.source[self.at]
        if mark == "(":
            return self.group()
        self.at += 1
        if mark in "^$":
            return Boundary(mark), False
        if mark == "[":
            return self.character_class(), True
        if mark == ".":
            return (
                CharacterClass(negated=True) if self.dot_matches_newline else CharacterClass(NEWLINE, negated=True)
            ), True
        if mark == "\\":
            if self.at >= len(self.source):
                raise RegexSyntaxError("it ends with a backslash")
            if self.source[self.at] in "bB":
                self.at += 1
                return Boundary(self.source[self.at - 1]), False
            return self.escape(in_class=False), True
        if mark in "*+?":
            raise RegexSyntaxError("a quantifier stands behind nothing that can be repeated")
        if mark in "{}]":
            self.at -= 1
            if self.unicode or _QUANTIFIER.match(self.source, self.at):
                raise RegexSyntaxError(f"a lone {mark}")
            self.at += 1
        return _literal(ord(mark)), True

    def group(self) -> tuple[Node, bool]:
        for mark, ahead, negated in (("(?=", 1, 0), ("(?!", 1, 1), ("(?<=", 0, 0), ("(?<!", 0, 1)):
            if self.take(mark):
                return Lookaround(self.group_body(), bool(ahead), bool(negated)), bool(ahead) and not self.unicode
        if self.take("(?<"):
            self.at -= 1
            name = self.match(_NAME)
            if not name or name[1] in self.group_names:
                raise RegexSyntaxError("a group's name makes no sense")
            self.group_names.add(name[1])
        elif not self.take("(?:"):
            if self.peek("(?"):
                raise RegexSyntaxError("(? is followed by nothing that is known")
            self.at += 1
        return self.group_body(), True

    def group_body(self) -> Node:
        node = self.alternation()
        if not self.take(")"):
            raise RegexSyntaxError("a bracket is not closed")
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
                        raise RegexSyntaxError("a range has no end")
                    both = (*first.ranges, (45, 45), *last.ranges)
                    first = CharacterClass(both, (*first.properties, *last.properties))
                elif high < low:
                    raise RegexSyntaxError("a range runs backwards")
                else:
                    first = CharacterClass(((low, high),))
            ranges += first.ranges
            properties += first.properties
        return CharacterClass(tuple(ranges), tuple(properties), negated)

    def class_member(self) -> CharacterClass:
        if self.at >= len(self.source):
            raise RegexSyntaxError("a [ is not closed")
        self.at += 1
        mark = self.source[self.at - 1]
        if mark != "\\":
            return _literal(ord(mark))
        if self.at >= len(self.source):
            raise RegexSyntaxError("it ends with a backslash")
        if self.take("b"):
            return _literal(8)
        if self.unicode and self.take("-"):
            return _literal(45)
        return self.escape(in_class=True)

    def escape(self, *, in_class: bool) -> CharacterClass:
        """The characters that an escape after a backslash means."""
        mark = self.source[self.at]
        self.at += 1
        if mark.lower() in _SETS:
            ranges = _SETS[mark.lower()]
            return CharacterClass(ranges if mark.islower() else complement(ranges))
        if mark in _CONTROLS:
            return _literal(_CONTROLS[mark])
        if mark in "pP" and self.unicode:
            return self.unicode_property(mark == "P")
        if mark in "xu":
            return self.code_escape(mark)
        if (
            mark == "c"
            and self.source[self.at : self.at + 1].isascii()
            and self.source[self.at : self.at + 1].isalpha()
        ):
            self.at += 1
            return _literal(ord(self.source[self.at - 1]) % 32)
        if mark == "k" and not in_class and (self.unicode or self.has_named_groups):
            raise RegexSyntaxError("it refers back to a group, which cannot be matched in bounded time")
        if mark.isdigit() and mark.isascii():
            return self.digit_escape(in_class)
        if mark == "c" and not self.unicode:
            self.at -= 1
            return _literal(92)
        if self.unicode and mark not in _SYNTAX:
            raise RegexSyntaxError(f"\\{mark} means nothing")
        return _literal(ord(mark))

    def unicode_property(self, negated: bool) -> CharacterClass:
        found = self.match(_PROPERTY)
        name = find_property(found[1], found[2]) if found else None
        if name is None:
            raise RegexSyntaxError(
                f"the property {found[0] if found else 'after a backslash and p'!r} is not known here"
            )
        return CharacterClass(properties=((name, negated),))

    def code_escape(self, mark: str) -> CharacterClass:
        if mark == "u" and self.unicode and self.take("{"):
            found = self.match(_HEX)
            if not found or not self.take("}") or int(found[0], 16) > LAST_CODE_POINT:
                raise RegexSyntaxError("a code point makes no sense")
            return _literal(int(found[0], 16))
        length = 2 if mark == "x" else 4
        digits = self.source[self.at : self.at + length]
        if len(digits) == length and _HEX.fullmatch(digits):
            self.at += length
            return _literal(int(digits, 16))
        if self.unicode:
            raise RegexSyntaxError(f"\\{mark} has no code")
        return _literal(ord(mark))

    def digit_escape(self, in_class: bool) -> CharacterClass:
        start = self.at - 1
        number = re.compile("[0-9]+").match(self.source, start)
        if (
            number
            and not in_class
            and number[0][0] != "0"
            and (self.unicode or _parse_number(number[0]) <= self.group_count)
        ):
            raise RegexSyntaxError("it refers back to a group, which cannot be matched in bounded time")
        if self.unicode:
            if number and number[0] == "0":
                return _literal(0)
            raise RegexSyntaxError("an octal code makes no sense here")
        octal = _OCTAL.match(self.source, start)
        if octal:
            self.at = octal.end()
            return _literal(int(octal[0], 8))
        return _literal(ord(self.source[start]))


def _parse_number(digits: str) -> int:
    return int(digits[:9]) if len(digits) < 10 else 10**9


def _literal(code: int) -> CharacterClass:
    return CharacterClass(((code, code),))


def _single(chars: CharacterClass) -> int | None:
    """The code of the single character of a class; None where it has several."""
    if len(chars.ranges) == 1 and not chars.properties and chars.ranges[0][0] == chars.ranges[0][1]:
        return chars.ranges[0][0]
    return None
