"""The log of a server: one line for each record, without the text of an exception."""

from __future__ import annotations

import logging
import sys

from fabula.server.logs import LineFormatter


def test_a_record_is_one_line_whatever_a_client_sent() -> None:
    record = logging.LogRecord("fabula.server", logging.ERROR, "", 1, "failed: %s", ("a\nforged line\x1b[2J",), None)
    line = LineFormatter().format(record)
    assert line.endswith("Z error fabula.server failed: a forged line [2J")


def test_the_text_of_an_exception_is_left_out() -> None:
    try:
        raise RuntimeError("the heir is Mara")
    except RuntimeError:
        record = logging.LogRecord("asyncio", logging.ERROR, "", 1, "failed", (), sys.exc_info())
    line = LineFormatter().format(record)
    assert "asyncio failed exception=RuntimeError at test_the_text_of_an_exception_is_left_out:" in line
    assert "heir" not in line
