"""Checks everything that the tests let the program log: it may hold neither texts of stories nor keys and passwords.

The samples are in most tests, so their sentences and the names of their characters are what is looked for, beside
whatever has the form of a key, and the words that tests use as passwords and tokens.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import fabula

OWN_LOGGERS = ("fabula", "uvicorn", "litestar", "mcp", "asyncio")
SAMPLES = Path(fabula.__file__).parent / "samples"
PLANTED = ("correct horse", "owner-token", "sk-test", "a long one", "Mara Venn", "PLANTED-TEXT", "PLANTED-KEY")
SECRET = re.compile(r"fabula-[0-9a-f]{20}-[\w-]{43}|(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[0-9])[\w-]{43}(?![\w-])")
ENGLISH_LENGTH, CHINESE_LENGTH = 28, 8  # characters of a text that do not stand in a log by chance
CHINESE = re.compile(r"[\u4e00-\u9fff，。]+")
MAX_FOUND = 20


class LogCheck(logging.Handler):
    """Looks at every record of the program's own loggers, and keeps those that say too much."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.found: list[str] = []
        self.seen = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Look at a record as it would be written."""
        if record.name.partition(".")[0] not in OWN_LOGGERS or len(self.found) >= MAX_FOUND:
            return
        self.seen += 1
        if problem := find_leak(logging.Formatter("%(message)s").format(record)):
            self.found.append(f"{record.name} ({record.pathname}:{record.lineno}): {problem}")


def find_leak(line: str) -> str:
    """Return what a line says that no log may say; empty where there is nothing."""
    if word := next((one for one in PLANTED if one in line), ""):
        return word
    if secret := SECRET.search(line):
        return secret[0]
    return next((part for part in cut(line) if part in list_parts()), "")


def cut(text: str) -> Iterator[str]:
    """Cut a text into all its parts of the length that is looked for."""
    for length in (ENGLISH_LENGTH, CHINESE_LENGTH):
        for at in range(len(text) - length + 1):
            part = text[at : at + length]
            if length == ENGLISH_LENGTH or CHINESE.fullmatch(part):
                yield part


@cache
def list_parts() -> frozenset[str]:
    """All parts of the texts of the samples."""
    return frozenset(part for path in SAMPLES.rglob("*.md") for part in cut(path.read_text("utf-8")))
