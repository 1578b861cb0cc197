"""Unicode properties under their JavaScript names, as far as Python's `unicodedata` knows them.

Categories are those of `unicodedata`. A script is recognised by the beginning of its characters' names, which holds
for all but some rare characters (small raised letters, old kana).
"""

from __future__ import annotations

import re
from unicodedata import category, name

_CATEGORIES = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
    "Punctuation": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
    "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So",
    "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
    "Other": "C", "Control": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
}  # fmt: skip
_SHORT = re.compile(r"L[ultmoC]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfson]?")
_SCRIPTS = {
    "Han": ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC ITERATION", "IDEOGRAPHIC NUMBER"),
    "Hiragana": ("HIRAGANA LETTER", "HIRAGANA ITERATION", "HIRAGANA VOICED ITERATION", "HIRAGANA DIGRAPH"),
    "Katakana": ("KATAKANA LETTER", "KATAKANA ITERATION", "KATAKANA VOICED ITERATION", "HALFWIDTH KATAKANA LETTER"),
    "Hangul": ("HANGUL", "HALFWIDTH HANGUL"),
    "Latin": ("LATIN", "FULLWIDTH LATIN", "FEMININE ORDINAL", "MASCULINE ORDINAL", "KELVIN", "ANGSTROM"),
    "Greek": ("GREEK", "OHM SIGN"),
    "Cyrillic": ("CYRILLIC", "COMBINING CYRILLIC"),
} | {
    script: (script.upper(),)
    for script in ("Arabic", "Armenian", "Bengali", "Devanagari", "Georgian", "Gujarati", "Hebrew", "Tamil", "Thai")
}
_ALIASES = {
    "Hani": "Han", "Hira": "Hiragana", "Kana": "Katakana", "Hang": "Hangul", "Latn": "Latin", "Grek": "Greek",
    "Cyrl": "Cyrillic", "Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Deva": "Devanagari",
    "Geor": "Georgian", "Gujr": "Gujarati", "Hebr": "Hebrew", "Taml": "Tamil",
}  # fmt: skip
_BINARY_PROPERTIES = {
    "Any": lambda letter: True,
    "ASCII": str.isascii,
    "Alphabetic": lambda letter: letter.isalpha() or category(letter) == "Nl",
    "Assigned": lambda letter: category(letter) != "Cn",
    "Ideographic": lambda letter: _is_of_script(letter, "Han"),
    "Lowercase": str.islower,
    "Uppercase": str.isupper,
    "White_Space": str.isspace,
}
_SHORT_BINARY_PROPERTIES = {"Alpha": "Alphabetic", "Ideo": "Ideographic", "Lower": "Lowercase", "Upper": "Uppercase"}


def find_property(first: str, second: str | None) -> str | None:
    """The canonical name of a property `first` or `first=second`; None for an unknown one."""
    if second is None:
        found = _CATEGORIES.get(first, first)
        if _SHORT.fullmatch(found):
            return found
        binary = _SHORT_BINARY_PROPERTIES.get(first, first)
        return binary if binary in _BINARY_PROPERTIES else None
    if first in ("gc", "General_Category"):
        found = _CATEGORIES.get(second, second)
        return found if _SHORT.fullmatch(found) else None
    if first in ("sc", "Script", "scx", "Script_Extensions"):
        script = _ALIASES.get(second, second)
        return f"sc={script}" if script in _SCRIPTS else None
    return None


def has_property(letter: str, property_name: str) -> bool:
    """Does a character have the property with this canonical name?"""
    if property_name.startswith("sc="):
        return _is_of_script(letter, property_name[3:])
    has_binary = _BINARY_PROPERTIES.get(property_name)
    if has_binary is not None:
        return has_binary(letter)
    return (
        category(letter) in ("Lu", "Ll", "Lt") if property_name == "LC" else category(letter).startswith(property_name)
    )


def _is_of_script(letter: str, script: str) -> bool:
    return name(letter, "").startswith(_SCRIPTS[script])
