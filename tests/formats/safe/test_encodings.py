"""Encodings: detected without a mark; a few damaged bytes are replaced, many are refused."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.safe.encodings import decode_text


def test_traditional_chinese_in_big5_is_read() -> None:
    text = "第一章 初見\n　　他說：你在這裡做什麼？\n　　她沒有回答，只是看著大海。\n"
    assert decode_text(text.encode("big5"), "x")[0] == text


def test_old_western_text_is_read() -> None:
    text = "“A little café”, he said—naïvely, as it turned out in the end.\n"
    assert decode_text(text.replace("\n", "\r\n").encode("cp1252"), "x")[0] == text


def test_a_few_damaged_bytes_are_told_and_many_are_refused() -> None:
    good = "她没有回答，只是看着大海。" * 500
    text, warnings = decode_text(good.encode()[:-1] + b"\xff", "x.txt")
    assert text.startswith(good[:-1])
    assert "damaged" in str(warnings[0])
    with pytest.raises(FabulaError) as raised:
        decode_text(bytes(range(128, 256)) * 40, "x.txt")
    assert raised.value.code is Code.IMPORT_UNREADABLE
    assert "UTF-8" in raised.value.sentence


def test_binary_rubbish_is_refused() -> None:
    with pytest.raises(FabulaError):
        decode_text(bytes(range(32)) * 100, "x.txt")
