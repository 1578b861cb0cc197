"""Convert RTF to Markdown with striprtf.

striprtf handles code pages, fonts and Unicode escapes but drops italics and bold. So the RTF is
tokenised first, and a private-use character is inserted wherever the style changes; striprtf passes
it through. Constructs on which striprtf fails are removed on the way: pictures, field codes, invalid
escapes, huge font tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from striprtf.striprtf import rtf_to_text

from fabula.core.messages import message
from fabula.formats.manuscripts.prose import Block, TextRun, make_block, render_markdown
from fabula.formats.manuscripts.words import load_words
from fabula.formats.safe.import_errors import SAVE_AGAIN, refuse_unreadable
from fabula.text.offsets import normalise

_TOKEN = re.compile(r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z]|[{}]", re.DOTALL)
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_ESCAPED_BYTES = re.compile(r"((?:\\'[0-9a-fA-F]{2})+)(?:([@-\[\]-z|~])|\\([\\{}]))?")
_TWO_BYTE_CHARSET = re.compile(r"\\ansicpg(?:932|936|949|950)|\\fcharset(?:78|79|80|85|128|129|134|136)\b")
_SKIPPED_GROUPS = load_words("rtf", "skipped_groups")
_WINDOWS_CHARSETS = {"78": "128", "79": "136", "80": "129", "85": "134"}  # of the Mac's, which striprtf does not know
_SCRIVENER_TAG = re.compile(r"<!?\$Scr_[A-Za-z]+::\d+>|\{\\Scrv_[a-z]+=?|\\end_Scrv_[a-z]+\}?")
_STYLE_MARKS = "\ue000\ue001\ue002\ue003"  # plain, italic, bold, both
_STYLES = {mark: (number % 2 > 0, number > 1) for number, mark in enumerate(_STYLE_MARKS)}  # italic, bold
_LINE_BREAK = "\ue004"
_MARKS = re.compile(f"([{_STYLE_MARKS}{_LINE_BREAK}])")
_MAX_DEPTH = 1_000
_to_text: Callable[[str, str, str], str] = rtf_to_text


def convert_rtf(data: bytes, label: str) -> str:
    """Convert an RTF file to Markdown with its italics and bold."""
    if not data.lstrip().startswith(b"{\\rtf"):
        refuse_unreadable(label, message("it is not RTF"), SAVE_AGAIN)
    marked = _insert_marks(_escape_bytes(data), label)
    try:
        text = _to_text(marked, "cp1252", "replace")
    except (ValueError, TypeError, LookupError, OverflowError):
        refuse_unreadable(label, message("its RTF is damaged"), SAVE_AGAIN)
    return render_markdown(_split_paragraphs(_SCRIVENER_TAG.sub("", normalise(text))))


def _escape_bytes(data: bytes) -> str:
    """RTF is ASCII; other bytes are escaped, unless they are UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = _HIGH_BYTE.sub(lambda match: b"\\'%02x" % match[0][0], data).decode("ascii")
    text = _MARKS.sub("", text)
    return _ESCAPED_BYTES.sub(_escape_second_byte, text) if _TWO_BYTE_CHARSET.search(text) else text


def _escape_second_byte(match: re.Match[str]) -> str:
    """Escape the second byte of a Chinese character too; some writers escape only the first."""
    run = bytes.fromhex(match[1].replace("\\'", ""))
    at = 0
    while at < len(run):
        at += 2 if 0x81 <= run[at] <= 0xFE else 1
    if at == len(run) or not (match[2] or match[3]):
        return match[0]
    return f"{match[1]}\\'{ord(match[2] or match[3]):02x}"


def _insert_marks(text: str, label: str) -> str:
    """Copy the RTF with a mark wherever its style changes."""
    out: list[str] = []
    groups: list[tuple[bool, bool, bool]] = []
    italic = bold = skipped = False
    charsets: dict[str, str] = {}
    font = ""
    at = 0
    while match := _TOKEN.search(text, at):
        if not skipped:
            out.append(text[at : match.start()])
        token, word, number = match[0], match[1], match[2]
        at = match.end()
        style_before = (italic, bold)
        if token == "{":
            groups.append((italic, bold, skipped))
            if len(groups) > _MAX_DEPTH:
                refuse_unreadable(
                    label, message("it is nested more than {depth} levels deep", depth=_MAX_DEPTH), SAVE_AGAIN
                )
            out.append("" if skipped else token)
        elif token == "}":
            was_skipped = skipped
            italic, bold, skipped = groups.pop() if groups else (False, False, False)
            if was_skipped and not skipped and charsets:
                fonts = (f"{{\\f{font}\\fcharset{charset} F;}}" for font, charset in charsets.items())
                out.append("\\fonttbl" + "".join(fonts))
                charsets = {}
            if not skipped:
                out.append(token)
        elif word == "bin":
            at += max(0, int(number or 0))
        elif skipped:
            font = number or "" if word == "f" else font
            if word == "fcharset" and font and number:
                charsets[font] = _WINDOWS_CHARSETS.get(number, number.lstrip("-"))
        elif word in _SKIPPED_GROUPS:
            skipped = True
        elif word in ("i", "b", "plain"):
            italic = number != "0" if word == "i" else italic and word != "plain"
            bold = number != "0" if word == "b" else bold and word != "plain"
        elif word == "line":
            out.append(_LINE_BREAK)
        elif not _is_invalid_escape(word, number):
            out.append(token)
        if (italic, bold) != style_before and not skipped:
            out.append(_STYLE_MARKS[italic + 2 * bold])
    if not skipped:
        out.append(text[at:])
    return "".join(out)


def _is_invalid_escape(word: str | None, number: str | None) -> bool:
    """Is this a Unicode escape without a number, or with one out of range?"""
    if word == "u":
        return number is None or not -32_768 <= int(number) <= 65_535
    return word == "uc" and (number is None or not 0 <= int(number) <= 8)


def _split_paragraphs(text: str) -> list[Block]:
    """Make a block of each line; marks switch the style of what follows them."""
    blocks: list[Block] = []
    italic = bold = False
    for line in text.split("\n"):
        runs: list[TextRun] = []
        for part in _MARKS.split(line):
            if part in _STYLES:
                italic, bold = _STYLES[part]
            elif part:
                runs.append(TextRun("\n" if part == _LINE_BREAK else part, italic, bold))
        if (block := make_block(runs)) is not None:
            blocks.append(block)
    return blocks
