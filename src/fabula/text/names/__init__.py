"""Find names in running text: known names (cdx-3), unknown ones, and the main characters."""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.text.names.ambiguous import is_also_a_word
    from fabula.text.names.main_characters import CharacterFinder
    from fabula.text.names.matcher import CaseMatching, NameMatch, NameMatcher, NameRules
    from fabula.text.names.unknown import find_unknown_names

__all__ = [
    "CaseMatching",
    "CharacterFinder",
    "NameMatch",
    "NameMatcher",
    "NameRules",
    "find_unknown_names",
    "is_also_a_word",
]

__getattr__ = import_lazily(
    __name__,
    {
        "CaseMatching": "fabula.text.names.matcher",
        "CharacterFinder": "fabula.text.names.main_characters",
        "NameMatch": "fabula.text.names.matcher",
        "NameMatcher": "fabula.text.names.matcher",
        "NameRules": "fabula.text.names.matcher",
        "find_unknown_names": "fabula.text.names.unknown",
        "is_also_a_word": "fabula.text.names.ambiguous",
    },
)
