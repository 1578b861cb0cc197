"""The check of logs finds what it looks for, and the program logs at all."""

from __future__ import annotations

import logging

import pytest

from fabula.access.passwords import make_secret
from tests.log_check import SAMPLES, LogCheck, cut, find_leak


@pytest.mark.parametrize("sample", ["lantern_coast", "wugang"])
def test_a_sentence_of_a_story_is_found(sample: str) -> None:
    texts = [path.read_text("utf-8") for path in sorted((SAMPLES / sample).rglob("*.md"))]
    longest = max(texts, key=len)
    part = next(iter(cut(longest[len(longest) // 2 :])))
    assert find_leak(f"the chapter {part!s} is long")


def test_keys_sessions_and_passwords_are_found() -> None:
    found = [
        find_leak(f"key {prefix}{make_secret()} made") for prefix in ("", f"fabula-{20 * 'a'}-") for _ in range(20)
    ]
    assert sum(map(bool, found)) >= 38  # a secret without a capital or a digit is rare
    assert find_leak("password correct horse")


@pytest.mark.parametrize(
    "line",
    [
        "refused: status=401 code=ACCESS_REQUIRED user=- address=127.0.0.1 method=GET route=/api/projects/{project}",
        "request failed: reference=01ce2f1f4f0a4d5b8a66 exception=RuntimeError at start:12",
        "job synopses:0123456789abcdef0123456789abcdef0123456789a of a: JOB_FAILED, waiting",
    ],
)
def test_plain_lines_are_not(line: str) -> None:
    assert find_leak(line) == ""


def test_exceptions_are_looked_at_with_their_text_and_other_programs_are_not() -> None:
    check = LogCheck()
    for name in ("fabula.test", "httpx"):
        record = logging.LogRecord(name, logging.ERROR, "x", 1, "failed", (), None)
        try:
            raise ValueError("PLANTED-TEXT")
        except ValueError as error:
            record.exc_info = (ValueError, error, None)
        check.emit(record)
    assert len(check.found) == 1
