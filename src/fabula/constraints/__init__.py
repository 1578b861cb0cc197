"""Constraints: rules that the generated text must not break (con-1, con-2, con-3, con-4)."""

from typing import TYPE_CHECKING

from fabula.constraints.model import (
    Constraint,
    ConstraintKind,
    ConstraintOrigin,
    Constraints,
    NarrativePerson,
    TextCheck,
)
from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.constraints.checks import check_text

__all__ = [
    "Constraint",
    "ConstraintKind",
    "ConstraintOrigin",
    "Constraints",
    "NarrativePerson",
    "TextCheck",
    "check_text",
]

__getattr__ = import_lazily(__name__, {"check_text": "fabula.constraints.checks"})
