"""Patterns as JavaScript writes them, looked for in bounded time."""

from fabula.text.js_regex.character_bits import Searched
from fabula.text.js_regex.matching import Allowance, Pattern, TooMuchWorkError, pattern
from fabula.text.js_regex.syntax_tree import WHITE

__all__ = ["WHITE", "Allowance", "Pattern", "Searched", "TooMuchWorkError", "pattern"]
