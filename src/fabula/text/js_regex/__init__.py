"""JavaScript regular expressions, matched in bounded time (inj-6, inj-7)."""

from fabula.text.js_regex.character_bits import RegexText
from fabula.text.js_regex.matching import JsRegex, TooMuchWorkError, WorkBudget, compile_regex
from fabula.text.js_regex.parser import JS_WHITESPACE

__all__ = ["JS_WHITESPACE", "JsRegex", "RegexText", "TooMuchWorkError", "WorkBudget", "compile_regex"]
