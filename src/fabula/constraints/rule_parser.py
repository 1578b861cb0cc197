"""Parses constraints in plain words, English or Chinese, into checks that a program can run (con-4).

"No exclamation marks" or 每句不超过30字 become a check. A rule is parsed only as a whole: what remains without its ban,
the words, marks or names that it bans and its understood conditions may consist of neutral words only
(`rules/words.toml`). Anything else could be a condition ("before the wedding", "to Bob", 结婚之前), so the rule is left
to the model, and the reading says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from fabula.constraints.conditions import RuleCondition, split_condition
from fabula.constraints.model import TextCheck
from fabula.constraints.rules import ChineseRule, EnglishRule, explain_unchecked
from fabula.constraints.rules.vocabulary import FIRST_PLACEHOLDER, HAN, PLACEHOLDER
from fabula.core.messages import Sentence, message

_QUOTATION = re.compile(
    r"“([^“”]+)”|‘([^‘’]+)’|\"([^\"]+)\"|(?<![A-Za-z])'([^']+)'(?![A-Za-z])|「([^「」]+)」|『([^『』]+)』"
)
_END_MARKS = ".。!！;；,，"
_MAX_LENGTH = 400


class RuleReading(Struct, frozen=True):
    """What a program understands of a rule: its check, or why the rule is left to the model."""

    check: TextCheck | None = None
    reason: Sentence | None = None


def parse_rule(text: str, names: Iterable[str] = ()) -> TextCheck | None:
    """Parse a rule into a check, or None; `names` are the names of the codex."""
    return read_rule(text, names).check


def read_rule(text: str, names: Iterable[str] = ()) -> RuleReading:
    """Read a rule as far as a program understands it; `names` are the names of the codex."""
    plain = " ".join(text.split()).strip().rstrip(_END_MARKS).replace("’", "'").replace("‘", "'")
    if len(plain) > _MAX_LENGTH or re.search(PLACEHOLDER, plain):
        return RuleReading(reason=message("it is too long for a program to understand"))
    plain = _pair_single_marks(text, plain)
    quoted: list[str] = []
    rule = _QUOTATION.sub(lambda match: _take_quotation(match, quoted), plain).strip().rstrip(_END_MARKS)
    known = [name for name in names if name.strip()]
    body, condition = split_condition(rule) or (rule, None)
    if condition is not None:
        check = _parse_body(body, quoted, known, condition)
        if check is not None:
            return RuleReading(check)
        if _parse_body(body, quoted, known, RuleCondition()) is not None:
            body = rule  # only its condition does not go with such a check
    return RuleReading(reason=explain_unchecked(rule, body, quoted, known))


def is_condition_only(text: str) -> bool:
    """Does a text consist of a condition ("before chapter 3") without a rule?"""
    plain = " ".join(text.split()).rstrip(_END_MARKS)
    if not plain or len(plain) > _MAX_LENGTH:
        return False
    found = split_condition(plain)
    return found is not None and not found[0].strip(_END_MARKS)


def _pair_single_marks(text: str, plain: str) -> str:
    """Keep the curly single marks of a rule that has them as quotation marks."""
    kept = " ".join(text.split()).strip().rstrip(_END_MARKS)
    return kept if re.search(r"‘[^‘’]+’", kept) else plain


def _take_quotation(match: re.Match[str], quoted: list[str]) -> str:
    word = next(filter(None, match.groups())).strip()
    word = word.rstrip(".,，。") if any(map(str.isalnum, word)) else word
    quoted.append(word)
    return f" {chr(FIRST_PLACEHOLDER + len(quoted) - 1)} " if word and len(quoted) < 500 else " "


def _parse_body(body: str, quoted: Sequence[str], names: Sequence[str], condition: RuleCondition) -> TextCheck | None:
    """Parse a rule without its conditions, all of it."""
    grammar = ChineseRule if HAN.search(body) else EnglishRule
    rule = grammar(body, quoted, names)
    has_scope = condition.narration_only or condition.dialogue_only
    check: TextCheck | None = None if has_scope else rule.parse_length()
    check = check or (None if condition.dialogue_only else rule.parse_person())
    check = check or rule.parse_names() or rule.parse_words()
    if check is None or (condition.narration_only and getattr(check, "dialogue_only", False)):
        return None
    limits = {name: value for name, value in asdict(condition).items() if value and hasattr(check, name)}
    return replace(check, **limits)
