"""Detect the encoding of a text file and decode it.

A byte order mark or valid UTF-8 decides. Otherwise the encoding is the one in which the most
characters are common Chinese ones: in a wrong encoding hardly any are. A text with a few damaged
bytes is decoded with a warning; one with many is refused.
"""

from __future__ import annotations

import re

from fabula.core.messages import Sentence, message, plural
from fabula.formats.safe.import_errors import SAVE_AS_UTF8, refuse_unreadable
from fabula.text.offsets import normalise

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_COMMON_CHINESE = frozenset(
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会道"
    "這個們來時為說國著裡後會對過發與從還無於曰之乎者而其何见見去下小心手天可都没沒只又"
    "，。、：；？！“”‘’「」『』《》…—\u3000"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE_SIZE = 60_000
_MAX_DAMAGED_SHARE = 0.001


def decode_text(data: bytes, label: str) -> tuple[str, tuple[Sentence, ...]]:
    """Decode a text file with normalised line ends; the second value holds warnings."""
    encoding = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)), "")
    encoding = encoding or _detect_utf16(data)
    if encoding:
        text, warnings = _decode(data.removeprefix(_BYTE_ORDER_MARKS[0][0]), encoding, label)
    else:
        try:
            text, warnings = data.decode(), ()
        except UnicodeDecodeError as error:
            text, warnings = _decode(data, _detect_encoding(data, error.start, label), label)
    text = normalise(text)
    if len(_CONTROL.findall(text, 0, _SAMPLE_SIZE)) > len(text[:_SAMPLE_SIZE]) // 100:
        remedy = message("Save the manuscript as Markdown, plain text, DOCX or EPUB.")
        refuse_unreadable(label, message("it is not a text"), remedy)
    return text.replace("\0", ""), warnings


def _detect_utf16(data: bytes) -> str:
    """Recognise UTF-16 without a mark: every other byte of plain Latin text is zero."""
    even, odd = data[:_SAMPLE_SIZE:2].count(0), data[1:_SAMPLE_SIZE:2].count(0)
    pairs = min(len(data), _SAMPLE_SIZE) // 2
    if odd > pairs // 4 and even < odd // 8:
        return "utf-16-le"
    return "utf-16-be" if even > pairs // 4 and odd < even // 8 else ""


def _detect_encoding(data: bytes, first_bad_byte: int, label: str) -> str:
    """Guess the encoding of a text that is not valid UTF-8."""
    sample = data[:_SAMPLE_SIZE]
    as_utf8 = sample.decode("utf-8", "replace")
    damaged = as_utf8.count("\ufffd")
    if sum(1 for char in as_utf8 if char > "\x7f") - damaged > 50 * (damaged - 3):
        return "utf-8"
    share, best = max(
        (_share_of_common_chinese(sample, encoding), encoding)
        for encoding in ("gb18030", "big5hkscs", "utf-16-le", "utf-16-be")
    )
    if share > 0.15:
        return best
    high_bytes = sum(1 for byte in sample if byte > 127)
    if high_bytes * 6 > len(sample) or any(byte in sample for byte in b"\x81\x8d\x8f\x90\x9d"):
        line = data[:first_bad_byte].count(b"\n") + 1
        refuse_unreadable(label, message("it is not readable as text from line {line} on", line=line), SAVE_AS_UTF8)
    return "cp1252"


def _share_of_common_chinese(sample: bytes, encoding: str) -> float:
    """The share of common Chinese characters among all that are not ASCII."""
    text = sample[: len(sample) // 2 * 2].decode(encoding, "replace")
    foreign = [char for char in text if char > "\x7f"]
    return sum(1 for char in foreign if char in _COMMON_CHINESE) / max(1, len(foreign))


def _decode(data: bytes, encoding: str, label: str) -> tuple[str, tuple[Sentence, ...]]:
    try:
        return data.decode(encoding), ()
    except UnicodeDecodeError as error:
        text = data.decode(encoding, "replace")
        damaged = text.count("\ufffd")
        line = data[: error.start].count(b"\n") + 1
    if damaged > max(3, len(text) * _MAX_DAMAGED_SHARE):
        problem = message(
            "{damaged} characters in it are not valid {encoding}, the first in line {line}",
            damaged=damaged,
            encoding=encoding,
            line=line,
        )
        refuse_unreadable(label, problem, SAVE_AS_UTF8)
    warning = plural(
        damaged,
        "{label}: one damaged character, in line {line}, was replaced by \ufffd.",
        "{label}: {count} damaged characters were replaced by \ufffd, the first in line {line}.",
        label=label,
        line=line,
    )
    return text, (warning,)
