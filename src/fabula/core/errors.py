"""One table of codes.

Everything that can go wrong has one code. The sentence that goes with it is written where it is
understood, for the person who will read it; what each code means, and whether it refuses a request
or only warns beside a good answer, is listed in `docs/errors.md`, and a test keeps that list whole.
"""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Every code a person or a program may meet."""

    # Requests that are refused
    BUDGET_INVALID_MINIMUM = "CONTEXT_BUDGET_INVALID_MINIMUM"
    BUDGET_INVALID_RATIO = "CONTEXT_BUDGET_INVALID_RATIO"
    BACKPRESSURE = "CONTEXT_BACKPRESSURE"
    CURSOR_INVALID = "CONTEXT_CURSOR_INVALID"
    DOCUMENT_STALE = "CONTEXT_DOCUMENT_STALE"
    DOCUMENT_UNKNOWN = "CONTEXT_DOCUMENT_UNKNOWN"
    FRAGMENT_INVALID = "CONTEXT_FRAGMENT_INVALID"
    INPUT_TOO_LARGE = "CONTEXT_INPUT_TOO_LARGE"
    INSPECT_FORBIDDEN = "CONTEXT_INSPECT_FORBIDDEN"
    MODEL_UNKNOWN = "CONTEXT_MODEL_UNKNOWN"
    RECIPE_UNKNOWN = "CONTEXT_RECIPE_UNKNOWN"
    REQUEST_INVALID = "CONTEXT_REQUEST_INVALID"
    RULES_TOO_LARGE = "CONTEXT_RULES_TOO_LARGE"
    SCOPE_VIOLATION = "CONTEXT_SCOPE_VIOLATION"
    SKILL_UNKNOWN = "CONTEXT_SKILL_UNKNOWN"
    CONSTRAINT_LIMIT = "CONSTRAINT_LIMIT"
    CONSTRAINT_VALIDATION_ERROR = "CONSTRAINT_VALIDATION_ERROR"
    PRESET_INVALID = "PRESET_INVALID"
    PRESET_LAYER_ORDER = "PRESET_LAYER_ORDER"
    PROJECT_INVALID = "PROJECT_INVALID"
    PROJECT_NOT_FOUND = "PROJECT_NOT_FOUND"
    IMPORT_UNREADABLE = "IMPORT_UNREADABLE"
    IMPORT_UNSAFE = "IMPORT_UNSAFE"
    IMPORT_TOO_LARGE = "IMPORT_TOO_LARGE"
    EXPORT_REFUSED = "EXPORT_REFUSED"

    # Warnings beside an answer
    ATTACHMENT_DROPPED = "CONTEXT_ATTACHMENT_DROPPED"
    BUDGET_FALLBACK = "CONTEXT_BUDGET_FALLBACK"
    FIXED_PROMPT_DROPPED = "CONTEXT_FIXED_PROMPT_DROPPED"
    NAME_UNKNOWN = "CONTEXT_NAME_UNKNOWN"
    RETRIEVED_CHUNK_LIMIT = "CONTEXT_RETRIEVED_CHUNK_LIMIT"
    RULES_OVERBUDGET = "CONTEXT_RULES_OVERBUDGET"
    PRESET_ANCHOR_MISSING = "PRESET_ANCHOR_MISSING"
    EDITOR_UNAVAILABLE = "EDITOR_UNAVAILABLE"
    KG_UNAVAILABLE = "KG_UNAVAILABLE"
    MEMORY_UNAVAILABLE = "MEMORY_UNAVAILABLE"
    RETRIEVAL_UNAVAILABLE = "RETRIEVAL_UNAVAILABLE"
    SOURCE_UNAVAILABLE = "SOURCE_UNAVAILABLE"


class FabulaError(Exception):
    """A refusal: what happened, what was kept, what to do; and a code for programs."""

    def __init__(self, code: Code, sentence: str, **details: object) -> None:
        super().__init__(f"{code.value}: {sentence}")
        self.code = code
        self.sentence = sentence
        self.details = details
