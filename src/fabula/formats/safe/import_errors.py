"""Refusals of files that cannot be imported.

Every sentence names the file, says what is wrong with it, that nothing was imported, and what the
person can do.
"""

from __future__ import annotations

from typing import NoReturn

from fabula.core.errors import Code, FabulaError


def refuse_unreadable(label: str, problem: str, remedy: str) -> NoReturn:
    """Refuse a file that is damaged or of an unknown format."""
    _refuse(Code.IMPORT_UNREADABLE, label, problem, remedy)


def refuse_unsafe(label: str, problem: str) -> NoReturn:
    """Refuse a file that looks like an attack."""
    _refuse(Code.IMPORT_UNSAFE, label, problem, "Do not trust this file; ask where it came from.")


def refuse_too_large(label: str, problem: str, remedy: str = "Leave out what is not text, or split it.") -> NoReturn:
    """Refuse a file that is larger, longer or deeper than the limits."""
    _refuse(Code.IMPORT_TOO_LARGE, label, problem, remedy)


def _refuse(code: Code, label: str, problem: str, remedy: str) -> NoReturn:
    raise FabulaError(code, f"{label}: {problem}. Nothing was imported. {remedy}")
