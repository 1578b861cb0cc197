"""Analyse text by itself: tokens, paragraphs, sentences, names, terms and summaries.

These modules depend on `fabula.core` alone. Importing them loads neither numpy nor the Chinese segmenter.
"""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.text.bounded_cache import BoundedCache
    from fabula.text.diff import find_edits, map_offset
    from fabula.text.keywords import extract_keywords
    from fabula.text.offsets import normalise
    from fabula.text.sentences import find_sentence_starts
    from fabula.text.statements import split_into_statements
    from fabula.text.stemmer import stem
    from fabula.text.summaries import Summariser, condense_texts, extract_summary
    from fabula.text.terms import split_terms
    from fabula.text.truncation import truncate_to_tokens
    from fabula.text.windows import TextWindow

__all__ = [
    "BoundedCache",
    "Summariser",
    "TextWindow",
    "condense_texts",
    "extract_keywords",
    "extract_summary",
    "find_edits",
    "find_sentence_starts",
    "map_offset",
    "normalise",
    "split_into_statements",
    "split_terms",
    "stem",
    "truncate_to_tokens",
]

__getattr__ = import_lazily(
    __name__,
    {
        "BoundedCache": "fabula.text.bounded_cache",
        "Summariser": "fabula.text.summaries",
        "TextWindow": "fabula.text.windows",
        "condense_texts": "fabula.text.summaries",
        "extract_keywords": "fabula.text.keywords",
        "extract_summary": "fabula.text.summaries",
        "find_edits": "fabula.text.diff",
        "find_sentence_starts": "fabula.text.sentences",
        "map_offset": "fabula.text.diff",
        "normalise": "fabula.text.offsets",
        "split_into_statements": "fabula.text.statements",
        "split_terms": "fabula.text.terms",
        "stem": "fabula.text.stemmer",
        "truncate_to_tokens": "fabula.text.truncation",
    },
)
