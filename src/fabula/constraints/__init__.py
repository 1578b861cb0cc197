"""Constraints: rules that the generated text must not break (con-1, con-2, con-3, con-4)."""

from fabula.constraints.model import Constraint, ConstraintKind, ConstraintOrigin, Constraints, TextCheck

__all__ = ["Constraint", "ConstraintKind", "ConstraintOrigin", "Constraints", "TextCheck"]
