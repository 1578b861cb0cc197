"""Refusals of files that cannot be imported.

Every sentence names the file, says what is wrong with it, that nothing was imported, and what the
person can do.
"""

from __future__ import annotations

from typing import NoReturn

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message

CHECK_FILE = message("Check that the file is there and that you may read it.")
CORRECT = message("Correct it, and try again.")
FETCH_AGAIN = message("Download or export the file again.")
SAVE_AGAIN = message("Save it again with the program that made it.")
SAVE_AS_UTF8 = message("Save it as UTF-8, and try again.")
SPLIT = message("Leave out what is not text, or split it.")


def refuse_unreadable(label: str | Sentence, problem: Sentence, remedy: Sentence) -> NoReturn:
    """Refuse a file that is damaged or of an unknown format."""
    _refuse(Code.IMPORT_UNREADABLE, label, problem, remedy)


def refuse_unsafe(label: str | Sentence, problem: Sentence) -> NoReturn:
    """Refuse a file that looks like an attack."""
    _refuse(Code.IMPORT_UNSAFE, label, problem, message("Do not trust this file; ask where it came from."))


def refuse_too_large(label: str | Sentence, problem: Sentence, remedy: Sentence = SPLIT) -> NoReturn:
    """Refuse a file that is larger, longer or deeper than the limits."""
    _refuse(Code.IMPORT_TOO_LARGE, label, problem, remedy)


def refuse_more_bytes(label: str | Sentence, max_bytes: int) -> NoReturn:
    """Refuse a file, or something in it, that is larger than the limit."""
    refuse_too_large(label, message("it is larger than {size} MB", size=max_bytes // 1_000_000))


def _refuse(code: Code, label: str | Sentence, problem: Sentence, remedy: Sentence) -> NoReturn:
    sentence = message(
        "{label}: {problem}. Nothing was imported. {remedy}", label=label, problem=problem, remedy=remedy
    )
    raise FabulaError(code, sentence)
