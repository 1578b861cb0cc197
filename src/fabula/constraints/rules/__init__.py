"""The forms of rules in plain words, by language."""

from fabula.constraints.rules.chinese import ChineseRule
from fabula.constraints.rules.english import EnglishRule
from fabula.constraints.rules.explanation import explain_unchecked

__all__ = ["ChineseRule", "EnglishRule", "explain_unchecked"]
