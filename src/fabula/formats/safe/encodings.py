"""Which letters do these bytes mean?

A marked or valid UTF text is believed. Anything else is judged by how many of its characters are
the everyday ones of Chinese: read in the wrong encoding, hardly any are. A text with a handful of
damaged bytes is read, and the damage is told.
"""

from __future__ import annotations

import re

from fabula.formats.manuscripts.imported import unreadable
from fabula.text.offsets import normalise

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_EVERYDAY = frozenset(
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会道"
    "這個們來時為說國著裡後會對過發與從還無於曰之乎者而其何见見去下小心手天可都没沒只又"
    "，。、：；？！“”‘’「」『』《》…—\u3000"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 60_000
_BORNE = 0.001


def decode(data: bytes, what: str) -> tuple[str, tuple[str, ...]]:
    """The text of a file with normalised line ends, and what was amiss with it."""
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "")
    sixteen = _sixteen(data) if not marked else ""
    if marked or sixteen:
        text, warnings = _read(data.removeprefix(_MARKS[0][0]), marked or sixteen, what)
    else:
        try:
            text, warnings = data.decode(), ()
        except UnicodeDecodeError:
            text, warnings = _read(data, _judged(data, what), what)
    text = normalise(text)
    if len(_CONTROL.findall(text, 0, _SAMPLE)) > len(text[:_SAMPLE]) // 100:
        unreadable(what, "it is not a text", "Save the manuscript as Markdown, plain text, DOCX or EPUB.")
    return text.replace("\0", ""), warnings


def _sixteen(data: bytes) -> str:
    """UTF-16 without a mark: every other byte of plain Latin text is zero."""
    even, odd = data[:_SAMPLE:2].count(0), data[1:_SAMPLE:2].count(0)
    most = min(len(data), _SAMPLE) // 2
    if odd > most // 4 and even < odd // 8:
        return "utf-16-le"
    return "utf-16-be" if even > most // 4 and odd < even // 8 else ""


def _judged(data: bytes, what: str) -> str:
    sample = data[:_SAMPLE]
    read = sample.decode("utf-8", "replace")
    if _foreign(read) > 50 * (read.count("\ufffd") - 3):
        return "utf-8"
    best = max(("gb18030", "big5hkscs", "utf-16-le", "utf-16-be"), key=lambda encoding: _everyday(sample, encoding))
    if _everyday(sample, best) > 0.15:
        return best
    latin = sum(1 for byte in sample if byte > 127)
    if latin * 6 > len(sample) or any(byte in sample for byte in b"\x81\x8d\x8f\x90\x9d"):
        line = data[: _first_bad(data)].count(b"\n") + 1
        problem = f"its bytes are no text we can read (from line {line} on)"
        unreadable(what, problem, "Save it as UTF-8, and try again.")
    return "cp1252"


def _first_bad(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _foreign(text: str) -> int:
    return sum(1 for char in text if char > "\x7f" and char != "\ufffd")


def _everyday(sample: bytes, encoding: str) -> float:
    """The share of everyday characters among all that are not plain ASCII."""
    text = sample[: len(sample) // 2 * 2].decode(encoding, "replace")
    foreign = [char for char in text if char > "\x7f"]
    return sum(1 for char in foreign if char in _EVERYDAY) / max(1, len(foreign))


def _read(data: bytes, encoding: str, what: str) -> tuple[str, tuple[str, ...]]:
    try:
        return data.decode(encoding), ()
    except UnicodeDecodeError as error:
        text = data.decode(encoding, "replace")
        lost = text.count("\ufffd")
        line = data[: error.start].count(b"\n") + 1
    if lost > max(3, len(text) * _BORNE):
        problem = f"{lost} places in it are not valid {encoding} (the first in line {line})"
        unreadable(what, problem, "Save it as UTF-8, and try again.")
    return text, (f"{what}: {lost} damaged characters were replaced by \ufffd, the first in line {line}.",)
