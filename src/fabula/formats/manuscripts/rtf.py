"""RTF as Markdown, by way of striprtf.

striprtf knows code pages, fonts and Unicode escapes, but forgets italics. So the text is marked
first: where italics or bold begin and end, a private character goes in, and comes out on the other
side between the words. On the way, what would trip it is taken out: pictures, field codes, broken
escapes, font tables without end.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from striprtf.striprtf import rtf_to_text

from fabula.formats.manuscripts.imported import unreadable
from fabula.formats.manuscripts.prose import Block, Span, block, markdown_of
from fabula.text.offsets import normalise

_TOKEN = re.compile(r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z]|[{}]", re.DOTALL)
_BYTES = re.compile(rb"[\x80-\xff]")
_HALF = re.compile(r"((?:\\'[0-9a-fA-F]{2})+)(?:([@-\[\]-z|~])|\\([\\{}]))?")
_TWO_BYTES = re.compile(r"\\ansicpg(?:932|936|949|950)|\\fcharset(?:78|79|80|85|128|129|134|136)\b")
_DROPPED = frozenset(("fldinst", "pict", "object", "fonttbl", "nonshppict", "datastore", "themedata", "Scrv_annot"))
_OF_THE_MAC = {"78": "128", "79": "136", "80": "129", "85": "134"}
_SCRIVENER = re.compile(r"<!?\$Scr_[A-Za-z]+::\d+>|\{\\Scrv_[a-z]+=?|\\end_Scrv_[a-z]+\}?")
_ITALIC, _ROMAN, _BOLD, _LIGHT, _LINE = "\ue001", "\ue002", "\ue003", "\ue004", "\ue005"
_MARKS = re.compile(f"([{_ITALIC}-{_LINE}])")
_DEEPEST = 1_000

# striprtf goes letter by letter; longer runs of plain letters wait outside, two private characters in their place.
_PRIVATE = re.compile("[\ue000-\uf0ff]")
_PARKED = re.compile("[\ue100-\uf0ff]{2}")
_WORTH_PARKING = 12
_MOST_FALLBACK = 8
_to_text: Callable[[str, str, str], str] = rtf_to_text


def rtf_markdown(data: bytes, what: str) -> str:
    """The text of an RTF file as Markdown, italics and bold kept."""
    if not data.lstrip().startswith(b"{\\rtf"):
        unreadable(what, "it is not RTF", "Save the manuscript again with the program that made it.")
    parked: list[str] = []
    marked = _marked(_ascii(data), parked, what)
    try:
        text = _to_text(marked, "cp1252", "replace")
    except (ValueError, TypeError, LookupError, OverflowError):
        unreadable(what, "its RTF is damaged", "Save the manuscript again with the program that made it.")
    text = _PARKED.sub(lambda match: parked[_index(match[0])], text)
    return markdown_of(_blocks(_SCRIVENER.sub("", normalise(text))))


def _ascii(data: bytes) -> str:
    """RTF is ASCII; bytes that are not are escaped, unless they are UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = _BYTES.sub(lambda match: b"\\'%02x" % match[0][0], data).decode("ascii")
    text = _PRIVATE.sub("", text)
    return _HALF.sub(_whole, text) if _TWO_BYTES.search(text) else text


def _whole(match: re.Match[str]) -> str:
    """Some writers escape only the first byte of a Chinese character: escape the second too."""
    run = bytes.fromhex(match[1].replace("\\'", ""))
    at = 0
    while at < len(run):
        at += 2 if 0x81 <= run[at] <= 0xFE else 1
    if at == len(run) or not (match[2] or match[3]):
        return match[0]
    return f"{match[1]}\\'{ord(match[2] or match[3]):02x}"


def _park(run: str, after: str | None, parked: list[str]) -> str:
    """A run of letters, or what stands for it; what may be the stand-in of a Unicode escape stays."""
    kept = _MOST_FALLBACK if after == "u" else 0
    if len(run) < _WORTH_PARKING + kept:
        return run
    parked.append(run[kept:].replace("\r", "").replace("\n", ""))
    place = len(parked) - 1
    return f"{run[:kept]}{chr(0xE100 + (place >> 12))}{chr(0xE100 + (place & 0xFFF))}"


def _index(pair: str) -> int:
    return ((ord(pair[0]) - 0xE100) << 12) + ord(pair[1]) - 0xE100


def _marked(text: str, parked: list[str], what: str) -> str:
    """The same RTF with marks where its look changes."""
    out: list[str] = []
    stack: list[tuple[bool, bool, bool]] = []
    italic = bold = dropped = False
    fonts: dict[str, str] = {}
    font = ""
    word: str | None = None
    at = 0
    while match := _TOKEN.search(text, at):
        if not dropped:
            out.append(_park(text[at : match.start()], word, parked))
        token, word, number = match[0], match[1], match[2]
        at = match.end()
        if token == "{":
            stack.append((italic, bold, dropped))
            if len(stack) > _DEEPEST:
                unreadable(what, "its groups are nested without end", "Save the manuscript again.")
            out.append("" if dropped else token)
        elif token == "}":
            before = (italic, bold)
            was_dropped = dropped
            italic, bold, dropped = stack.pop() if stack else (False, False, False)
            if was_dropped and not dropped and fonts:
                out.append("\\fonttbl" + "".join(f"{{\\f{key}\\fcharset{value} F;}}" for key, value in fonts.items()))
                fonts = {}
            if not dropped:
                out.extend((token, _change(before, (italic, bold))))
        elif word == "bin":
            at += max(0, int(number or 0))
        elif dropped:
            font = number or "" if word == "f" else font
            if word == "fcharset" and font and number:
                fonts[font] = _OF_THE_MAC.get(number, number.lstrip("-"))
        elif word in _DROPPED:
            dropped = True
        elif word in ("i", "b", "plain"):
            before = (italic, bold)
            italic = number != "0" if word == "i" else italic and word != "plain"
            bold = number != "0" if word == "b" else bold and word != "plain"
            out.append(_change(before, (italic, bold)))
        elif word == "line":
            out.append(_LINE)
        elif not _broken(word, number):
            out.append(token)
    if not dropped:
        out.append(text[at:])
    return "".join(out)


def _broken(word: str | None, number: str | None) -> bool:
    """Escapes without the number they need."""
    if word == "u":
        return number is None or not -32_768 <= int(number) <= 65_535
    return word == "uc" and (number is None or not 0 <= int(number) <= 8)


def _change(before: tuple[bool, bool], now: tuple[bool, bool]) -> str:
    leaning = (_ITALIC if now[0] else _ROMAN) if before[0] != now[0] else ""
    heavy = (_BOLD if now[1] else _LIGHT) if before[1] != now[1] else ""
    return leaning + heavy


def _blocks(text: str) -> list[Block]:
    """Lines as paragraphs, marks as the look of what follows them."""
    found: list[Block] = []
    italic = bold = False
    for line in text.split("\n"):
        spans: list[Span] = []
        for piece in _MARKS.split(line):
            if piece in (_ITALIC, _ROMAN):
                italic = piece == _ITALIC
            elif piece in (_BOLD, _LIGHT):
                bold = piece == _BOLD
            else:
                spans.append(Span("\n" if piece == _LINE else piece, italic, bold))
        if (paragraph := block(spans)) is not None:
            found.append(paragraph)
    return found
