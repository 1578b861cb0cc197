"""Prose between formats: blocks of spans, from Markdown and back.

Every format that is not Markdown reads into blocks and writes from them, so emphasis, quotations and
scene breaks are understood in one place. The dialect is what novelists use: paragraphs, `*italics*`,
`**bold**`, `> quotations` and scene breaks; anything else is plain words. In Chinese prose each
line is a paragraph of its own: it is *tight*, it follows the one before without a blank line.

Writing is checked by reading: where marks would come out as other words, the words win.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from markdown_it import MarkdownIt
from msgspec import Struct

BREAK = re.compile(
    r"[ \t　]*(?:(?:\*[ \t　]*)+|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:~[ \t]*)+|#|⁂|(?:[＊※◇◆☆★○●•·＃][ \t　]*)+)"
)
HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_QUOTE = re.compile(r"[ \t]{0,3}>[ \t]?")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_TO_ESCAPE = re.compile(r"\*|(?<![^\W_])_|_(?![^\W_])|\\(?=[!-/:-@\[-`{-~\n]|$)")
_MOST_QUOTES = 8


class Span(Struct, frozen=True):
    """A few words of one look; line breaks inside are `\\n`."""

    text: str
    italic: bool = False
    bold: bool = False


class Block(Struct, frozen=True):
    """One paragraph, or one scene break."""

    spans: tuple[Span, ...]
    quote: int = 0
    tight: bool = False
    rule: bool = False

    @property
    def words(self) -> str:
        """Its text without marks."""
        return "".join(span.text for span in self.spans)


def wide(text: str) -> bool:
    """Is this Chinese or Japanese prose, where a line is a paragraph?"""
    lines = [line for line in text[:20_000].split("\n") if line.strip()]
    return 2 * sum(1 for line in lines if _WIDE.search(line)) > len(lines)


def block(spans: Iterable[Span], *, quote: int = 0, tight: bool = False) -> Block | None:
    """A paragraph as found in a document, its edges trimmed; nothing when it has no words."""
    kept = _trimmed(spans)
    if not kept:
        return None
    words = "".join(span.text for span in kept)
    if len(words) < 80 and BREAK.fullmatch(words):
        return Block((Span(words.strip()),), min(quote, _MOST_QUOTES), tight, True)
    return Block(kept, min(quote, _MOST_QUOTES), tight)


def blocks_of(text: str) -> list[Block]:
    """Markdown as blocks."""
    by_line = wide(text)
    found: list[Block] = []
    lines: list[str] = []
    depth, loose, blank = 0, True, True

    def close() -> None:
        if lines:
            found.append(Block(_spans("\n".join(lines)), depth, not loose))
            lines.clear()

    for line in text.split("\n"):
        quote, rest = _quoted(line)
        body = rest.strip(" \t")
        heading = HEADING.fullmatch(body)
        if not body.strip():
            close()
            blank = True
            continue
        if len(body) < 80 and BREAK.fullmatch(body):
            close()
            found.append(Block((Span(body),), quote, not blank, True))
        elif heading is not None:
            close()
            if heading[2]:
                found.append(Block((Span(heading[2], bold=True),), quote, not blank))
        else:
            if by_line or quote != depth or blank:
                close()
            if not lines:
                depth, loose = quote, blank
            lines.append(body)
        blank = False
    close()
    return found


def markdown_of(blocks: Iterable[Block]) -> str:
    """Blocks as Markdown."""
    written: list[str] = []
    for block in blocks:
        words = block.words if block.rule else _written(block.spans)
        if block.quote or not block.rule:
            words = "\n".join("> " * block.quote + (line if block.rule else _guarded(line)) for line in words.split("\n"))
        written.append(f"{'' if not written else chr(10) if block.tight else chr(10) * 2}{words}")
    return "".join(written)


def _quoted(line: str) -> tuple[int, str]:
    depth = 0
    while depth < _MOST_QUOTES and (mark := _QUOTE.match(line)):
        depth += 1
        line = line[mark.end() :]
    return depth, line


def _guarded(line: str) -> str:
    """A line that will be read as words, whatever it begins with."""
    if line.startswith((">", "#")) or (len(line) < 80 and BREAK.fullmatch(line)):
        mark = line.startswith(">") or HEADING.fullmatch(line) or BREAK.fullmatch(line)
        return f"\\{line}" if mark and line[0] in ">#-_*~" else line
    return line


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").disable(["link", "image", "autolink", "html_inline", "entity", "backticks"])


def _spans(text: str) -> tuple[Span, ...]:
    """One paragraph's Markdown as spans."""
    if not any(mark in text for mark in "*_\\"):
        return (Span(text),)
    found: list[Span] = []
    italic = bold = 0
    for token in _parser().parseInline(text)[0].children or ():
        match token.type:
            case "em_open" | "em_close":
                italic += token.nesting
            case "strong_open" | "strong_close":
                bold += token.nesting
            case "softbreak" | "hardbreak":
                found.append(Span("\n", italic > 0, bold > 0))
            case _:
                found.append(Span(token.content, italic > 0, bold > 0))
    return _merged(found)


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    kept: list[Span] = []
    for span in spans:
        if not span.text:
            continue
        if kept and (kept[-1].italic, kept[-1].bold) == (span.italic, span.bold):
            kept[-1] = Span(kept[-1].text + span.text, span.italic, span.bold)
        else:
            kept.append(span)
    return tuple(kept)


def _trimmed(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans without blanks at the edges of their lines; the full-width indents of Chinese stay."""
    kept: list[Span] = []
    fresh = True
    for span in _merged(spans):
        text = re.sub(r"[ \t\xa0]*\n[ \t\xa0]*", "\n", span.text)
        if fresh:
            text = text.lstrip(" \t\n\xa0")
        fresh = text.endswith("\n") if text else fresh
        kept.append(Span(text, span.italic, span.bold))
    while kept and not (text := kept[-1].text.rstrip(" \t\n\xa0")):
        kept.pop()
    if kept:
        kept[-1] = Span(text, kept[-1].italic, kept[-1].bold)
    return _merged(kept) if any(span.text.strip() for span in kept) else ()


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(r"\\\g<0>", text) if any(mark in text for mark in "*_\\") else text


def _written(spans: Sequence[Span]) -> str:
    """Spans as inline Markdown that reads as the same words."""
    words = "".join(span.text for span in spans)
    if any(span.italic or span.bold for span in spans):
        marked = _nested(_flanked(words, spans), italic=False, bold=False)
        if "".join(span.text for span in _spans(marked)) == words:
            return marked
    return _escaped(words)


def _nested(spans: Sequence[Span], *, italic: bool, bold: bool) -> str:
    """Marks around the longest runs, shorter runs inside them."""
    out: list[str] = []
    at = 0
    while at < len(spans):
        leaning = _run(spans, at, "italic") if not italic else 0
        heavy = _run(spans, at, "bold") if not bold else 0
        size = max(leaning, heavy)
        if size == 0:
            out.append(_escaped(spans[at].text))
            at += 1
        elif heavy >= leaning:
            out.append(f"**{_nested(spans[at : at + size], italic=italic, bold=True)}**")
            at += size
        else:
            out.append(f"*{_nested(spans[at : at + size], italic=True, bold=bold)}*")
            at += size
    return "".join(out)


def _run(spans: Sequence[Span], at: int, look: str) -> int:
    size = 0
    while at + size < len(spans) and getattr(spans[at + size], look):
        size += 1
    return size


def _flanked(words: str, spans: Sequence[Span]) -> list[Span]:
    """The same spans, drawn in where a mark would not count: at blanks, and at marks of speech inside a line."""
    looks: list[bytearray] = []
    for look in ("italic", "bold"):
        flags = bytearray(len(words))
        at = 0
        edges: list[tuple[int, int]] = []
        for span in spans:
            end = at + len(span.text)
            if getattr(span, look):
                edges = [*edges[:-1], (edges[-1][0], end)] if edges and edges[-1][1] == at else [*edges, (at, end)]
            at = end
        for start, end in edges:
            low, high = start, end
            while low < high and not _opens(words, low):
                low += 1
            while low < high and not _opens(words[::-1], len(words) - high):
                high -= 1
            flags[low:high] = b"\1" * (high - low)
        looks.append(flags)
    return list(_merged(Span(char, bool(i), bool(b)) for char, i, b in zip(words, *looks, strict=True)))


def _opens(words: str, at: int) -> bool:
    """Would a mark before this character count as an opening one? (Read backwards: as a closing one.)"""
    if words[at].isspace():
        return False
    return not _is_mark(words[at]) or at == 0 or words[at - 1].isspace() or _is_mark(words[at - 1])


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
