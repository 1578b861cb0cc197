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
from itertools import pairwise

from markdown_it import MarkdownIt
from msgspec import Struct

BREAK = re.compile(
    r"[ \t　]*(?:(?:\*[ \t　]*)+|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:~[ \t]*)+|#|⁂|(?:[＊※◇◆☆★○●•·＃][ \t　]*)+)"
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_QUOTE = re.compile(r"[ \t]{0,3}>[ \t]?")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_TO_ESCAPE = re.compile(r"(?<=\S)\*|\*(?=\S)|(?<![^\W_])_|_(?![^\W_])|\\(?=[!-/:-@\[-`{-~\n]|$)")
_EDGES = " \t\xa0"
_MOST_QUOTES = 8
_MOST_MARKS = 2_000  # of one paragraph; more is no prose, and takes for ever

# Between a mark and wide punctuation CommonMark sees no emphasis: `*“你好”*然后`. A letter on either side helps.
_JOINT = "\ue000"
_WIDE_MARK = re.compile("[\u2014\u2018-\u201d\u2026\u3001-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")
_STARS = re.compile(r"(.?)((?<![\\*])\*+)(?=(.?))", re.DOTALL)


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


def heading_of(line: str) -> tuple[int, str] | None:
    """The level and title of a `#` heading; a lone `#` is a scene break."""
    match = _HEADING.fullmatch(line.rstrip(" \t")) if line.lstrip(" ").startswith("#") and len(line) < 1_000 else None
    if match is None or line.strip() == "#":
        return None
    return len(match[1]), _CLOSING.sub("", match[2] or "").strip(" \t")


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
        heading = heading_of(body)
        if not body.strip():
            close()
            blank = True
            continue
        if len(body) < 80 and BREAK.fullmatch(body):
            close()
            found.append(Block((Span(body),), quote, not blank, True))
        elif heading is not None:
            close()
            if heading[1]:
                found.append(Block((Span(heading[1], bold=True),), quote, not blank))
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
        lines = [block.words] if block.rule else _lines(block)
        if written:
            written.append("\n" if block.tight else "\n\n")
        written.append("\n".join("> " * block.quote + line for line in lines))
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
        mark = line.startswith(">") or heading_of(line) or BREAK.fullmatch(line)
        return f"\\{line}" if mark and line[0] in ">#-_*~" else line
    return line


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").disable(["link", "image", "autolink", "html_inline", "entity", "backticks"])


def _spans(text: str) -> tuple[Span, ...]:
    """One paragraph's Markdown as spans."""
    marks = text.count("*") + text.count("_")
    if (not marks and "\\" not in text) or marks > _MOST_MARKS:
        return (Span(text),)
    if _WIDE_MARK.search(text):
        text = _STARS.sub(_joined, text)
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
                found.append(Span(token.content.replace(_JOINT, ""), italic > 0, bold > 0))
    return _merged(found)


def _joined(match: re.Match[str]) -> str:
    before, stars, after = match[1], match[2], match[3]
    if not _WIDE_MARK.match(before) and not _WIDE_MARK.match(after):
        return match[0]
    left = _JOINT if before.strip() else ""
    return f"{before}{left}{stars}{_JOINT if after.strip() else ''}"


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
    lines = [_edged(line) for line in _by_line(spans)]
    full = [at for at, line in enumerate(lines) if any(span.text.strip() for span in line)]
    if not full:
        return ()
    kept = list(lines[full[0]])
    for line in lines[full[0] + 1 : full[-1] + 1]:
        kept.extend((Span("\n"), *line))
    return _merged(kept)


def _edged(line: Sequence[Span]) -> list[Span]:
    kept = [span for span in line if span.text]
    for at, strip in ((0, str.lstrip), (-1, str.rstrip)):
        while kept:
            span = kept[at]
            text = strip(span.text, _EDGES)
            if text:
                kept[at] = Span(text, span.italic, span.bold)
                break
            kept.pop(at)
    return kept


def _lines(block: Block) -> list[str]:
    """The lines of a paragraph, right when they are read one by one and right when they are read together."""
    lines = [_guarded(_written(line)) for line in _by_line(block.spans)]
    if len(lines) > 1 and "".join(span.text for span in _spans("\n".join(lines))) != block.words:
        return [_guarded(_escaped(line)) for line in block.words.split("\n")]
    return lines


def _by_line(spans: Iterable[Span]) -> list[list[Span]]:
    """Spans line by line: marks are closed where a line ends, so that each line can be read alone."""
    lines: list[list[Span]] = [[]]
    for span in spans:
        first, *more = span.text.split("\n")
        lines[-1].append(Span(first, span.italic, span.bold))
        lines.extend([Span(text, span.italic, span.bold)] for text in more)
    return lines


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(r"\\\g<0>", text) if any(mark in text for mark in "*_\\") else text


def _written(spans: Sequence[Span]) -> str:
    """Spans as inline Markdown that reads as the same words."""
    words = "".join(span.text for span in spans)
    if any(span.italic or span.bold for span in spans):
        drawn = _flanked(words, spans)
        leaning = _merged(Span(span.text, span.italic) for span in drawn)
        for marked in (_nested(drawn, italic=False, bold=False), _nested(leaning, italic=False, bold=False)):
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
    leaning = [_drawn_in(words, *edges) for edges in _ranges(spans, "italic")]
    heavy = [_drawn_in(words, *edges) for edges in _ranges(spans, "bold")]
    cuts = sorted({0, len(words), *(edge for pair in leaning + heavy for edge in pair)})
    return [
        Span(
            words[start:end],
            any(low <= start < high for low, high in leaning),
            any(low <= start < high for low, high in heavy),
        )
        for start, end in pairwise(cuts)
    ]


def _ranges(spans: Sequence[Span], look: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = 0
    for span in spans:
        end = at + len(span.text)
        if getattr(span, look):
            if found and found[-1][1] == at:
                found[-1] = (found[-1][0], end)
            else:
                found.append((at, end))
        at = end
    return found


def _drawn_in(words: str, low: int, high: int) -> tuple[int, int]:
    while low < high and not _counts(words[low], words[low - 1] if low else " "):
        low += 1
    while low < high and not _counts(words[high - 1], words[high] if high < len(words) else " "):
        high -= 1
    return low, high


def _counts(inside: str, outside: str) -> bool:
    """Would a mark between these two characters open or close emphasis?"""
    return not inside.isspace() and (not _is_mark(inside) or outside.isspace() or _is_mark(outside))


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
