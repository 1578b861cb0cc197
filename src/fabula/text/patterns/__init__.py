"""Patterns as JavaScript writes them, looked for in bounded time."""

from fabula.text.patterns.marks import Searched
from fabula.text.patterns.match import Allowance, Pattern, TooMuchWorkError, pattern
from fabula.text.patterns.tree import WHITE

__all__ = ["WHITE", "Allowance", "Pattern", "Searched", "TooMuchWorkError", "pattern"]
