"""JavaScript's regular expressions, read into a tree.

Keys of the form `/…/i` are JavaScript, and read as Python they would mean something else: `\\w` and
`\\d` are ASCII there, `$` is only the very end, `[]` never matches, a `{` may stand for itself. So
they are parsed by their own grammar, the lenient one of browsers unless the `u` flag is set.
"""

from __future__ import annotations

import re

from fabula.text.js_regex.syntax_tree import (
    DIGIT,
    LAST,
    NEWLINE,
    SPACE,
    WORD,
    Chain,
    Chars,
    Choice,
    Edge,
    Look,
    Node,
    Range,
    Repeat,
    complement,
)
from fabula.text.js_regex.unicode_properties import property_of

DEEPEST = 100
_SETS = {"d": DIGIT, "w": WORD, "s": SPACE}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_QUANTIFIER = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_NAME = re.compile(r"<([^\W\d]\w*|\$\w*)>")
_HEX = re.compile(r"[0-9a-fA-F]+")
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_PROPERTY = re.compile(r"\{([A-Za-z_&]+)(?:=([A-Za-z_]+))?\}")


class PatternError(Exception):
    """It is not a regular expression, or not one that is understood here."""


def parse(source: str, flags: str) -> Node:
    """The tree of a pattern; raises PatternError where JavaScript would, or where it is not understood."""
    if len(set(flags)) != len(flags) or set(flags) - set("gimsuy"):
        raise PatternError(f"the flags {flags!r} make no sense")
    return _Parser(source, flags).whole()


class _Parser:
    def __init__(self, source: str, flags: str) -> None:
        self.source, self.at, self.depth = source, 0, 0
        self.unicode, self.dots = "u" in flags, "s" in flags
        # How many groups there are decides what \2 means; a class or an escape may hold a bracket.
        bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", source, flags=re.DOTALL)
        self.captures = len(re.findall(r"\((?!\?)|\(\?<(?![=!])", bare))
        self.named = "(?<" in bare.replace("(?<=", "").replace("(?<!", "")
        self.names: set[str] = set()

    def whole(self) -> Node:
        node = self.choice()
        if self.at < len(self.source):
            raise PatternError("a ) closes nothing")
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

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise PatternError(f"brackets stand more than {DEEPEST} deep")
        parts = [self.chain()]
        while self.take("|"):
            parts.append(self.chain())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def chain(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self.quantified(*self.atom()))
        return parts[0] if len(parts) == 1 else Chain(tuple(parts))

    def quantified(self, node: Node, countable: bool) -> Node:
        bounds: tuple[int, int | None] | None = None
        for mark, meaning in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(mark):
                bounds = meaning
                break
        else:
            found = self.match(_QUANTIFIER)
            if found:
                least = _whole_number(found[1])
                bounds = (least, least if not found[2] else _whole_number(found[3]) if found[3] else None)
        if bounds is None:
            return node
        if not countable:
            raise PatternError("a quantifier stands behind nothing that can be repeated")
        if bounds[1] is not None and bounds[1] < bounds[0]:
            raise PatternError("a quantifier counts backwards")
        self.take("?")  # lazy: decides where a match ends, not whether there is one
        return Repeat(node, *bounds)

    def atom(self) -> tuple[Node, bool]:
        """The next atom, and whether a quantifier may follow it."""
        mark = self.source[self.at]
        if mark == "(":
            return self.group()
        self.at += 1
        if mark in "^$":
            return Edge(mark), False
        if mark == "[":
            return self.bracket(), True
        if mark == ".":
            return (Chars(negated=True) if self.dots else Chars(NEWLINE, negated=True)), True
        if mark == "\\":
            if self.at >= len(self.source):
                raise PatternError("it ends with a backslash")
            if self.source[self.at] in "bB":
                self.at += 1
                return Edge(self.source[self.at - 1]), False
            return self.escape(inside=False), True
        if mark in "*+?":
            raise PatternError("a quantifier stands behind nothing that can be repeated")
        if mark in "{}]":
            self.at -= 1
            if self.unicode or _QUANTIFIER.match(self.source, self.at):
                raise PatternError(f"a lone {mark}")
            self.at += 1
        return _literal(ord(mark)), True

    def group(self) -> tuple[Node, bool]:
        for mark, ahead, negated in (("(?=", 1, 0), ("(?!", 1, 1), ("(?<=", 0, 0), ("(?<!", 0, 1)):
            if self.take(mark):
                return Look(self.closed(), bool(ahead), bool(negated)), bool(ahead) and not self.unicode
        if self.take("(?<"):
            self.at -= 1
            name = self.match(_NAME)
            if not name or name[1] in self.names:
                raise PatternError("a group's name makes no sense")
            self.names.add(name[1])
        elif not self.take("(?:"):
            if self.peek("(?"):
                raise PatternError("(? is followed by nothing that is known")
            self.at += 1
        return self.closed(), True

    def closed(self) -> Node:
        node = self.choice()
        if not self.take(")"):
            raise PatternError("a bracket is not closed")
        return node

    def bracket(self) -> Chars:
        negated = self.take("^")
        ranges: list[Range] = []
        properties: list[tuple[str, bool]] = []
        while not self.take("]"):
            first = self.member()
            if self.peek("-") and not self.peek("-]"):
                self.at += 1
                last = self.member()
                low, high = _single(first), _single(last)
                if low is None or high is None:
                    if self.unicode:
                        raise PatternError("a range has no end")
                    both = (*first.ranges, (45, 45), *last.ranges)
                    first = Chars(both, (*first.properties, *last.properties))
                elif high < low:
                    raise PatternError("a range runs backwards")
                else:
                    first = Chars(((low, high),))
            ranges += first.ranges
            properties += first.properties
        return Chars(tuple(ranges), tuple(properties), negated)

    def member(self) -> Chars:
        if self.at >= len(self.source):
            raise PatternError("a [ is not closed")
        self.at += 1
        mark = self.source[self.at - 1]
        if mark != "\\":
            return _literal(ord(mark))
        if self.at >= len(self.source):
            raise PatternError("it ends with a backslash")
        if self.take("b"):
            return _literal(8)
        if self.unicode and self.take("-"):
            return _literal(45)
        return self.escape(inside=True)

    def escape(self, *, inside: bool) -> Chars:
        """What stands behind a backslash, as characters."""
        mark = self.source[self.at]
        self.at += 1
        if mark.lower() in _SETS:
            ranges = _SETS[mark.lower()]
            return Chars(ranges if mark.islower() else complement(ranges))
        if mark in _CONTROLS:
            return _literal(_CONTROLS[mark])
        if mark in "pP" and self.unicode:
            return self.unicode_property(mark == "P")
        if mark in "xu":
            return self.code(mark)
        if (
            mark == "c"
            and self.source[self.at : self.at + 1].isascii()
            and self.source[self.at : self.at + 1].isalpha()
        ):
            self.at += 1
            return _literal(ord(self.source[self.at - 1]) % 32)
        if mark == "k" and not inside and (self.unicode or self.named):
            raise PatternError("it refers back to a group, which cannot be matched in bounded time")
        if mark.isdigit() and mark.isascii():
            return self.digits(inside)
        if mark == "c" and not self.unicode:
            self.at -= 1
            return _literal(92)
        if self.unicode and mark not in _SYNTAX:
            raise PatternError(f"\\{mark} means nothing")
        return _literal(ord(mark))

    def unicode_property(self, negated: bool) -> Chars:
        found = self.match(_PROPERTY)
        name = property_of(found[1], found[2]) if found else None
        if name is None:
            raise PatternError(f"the property {found[0] if found else 'after a backslash and p'!r} is not known here")
        return Chars(properties=((name, negated),))

    def code(self, mark: str) -> Chars:
        if mark == "u" and self.unicode and self.take("{"):
            found = self.match(_HEX)
            if not found or not self.take("}") or int(found[0], 16) > LAST:
                raise PatternError("a code point makes no sense")
            return _literal(int(found[0], 16))
        length = 2 if mark == "x" else 4
        digits = self.source[self.at : self.at + length]
        if len(digits) == length and _HEX.fullmatch(digits):
            self.at += length
            return _literal(int(digits, 16))
        if self.unicode:
            raise PatternError(f"\\{mark} has no code")
        return _literal(ord(mark))

    def digits(self, inside: bool) -> Chars:
        start = self.at - 1
        number = re.compile("[0-9]+").match(self.source, start)
        if (
            number
            and not inside
            and number[0][0] != "0"
            and (self.unicode or _whole_number(number[0]) <= self.captures)
        ):
            raise PatternError("it refers back to a group, which cannot be matched in bounded time")
        if self.unicode:
            if number and number[0] == "0":
                return _literal(0)
            raise PatternError("an octal code makes no sense here")
        octal = _OCTAL.match(self.source, start)
        if octal:
            self.at = octal.end()
            return _literal(int(octal[0], 8))
        return _literal(ord(self.source[start]))


def _whole_number(digits: str) -> int:
    return int(digits[:9]) if len(digits) < 10 else 10**9


def _literal(code: int) -> Chars:
    return Chars(((code, code),))


def _single(chars: Chars) -> int | None:
    """The one character it is, if it is one."""
    if len(chars.ranges) == 1 and not chars.properties and chars.ranges[0][0] == chars.ranges[0][1]:
        return chars.ranges[0][0]
    return None
