"""Convert prose between Markdown and blocks of styled text.

All formats but Markdown read into blocks and write from them, so emphasis, quotations and scene
breaks are handled here alone. The Markdown is what novelists use: paragraphs, `*italics*`,
`**bold**`, `> quotations` and scene breaks; everything else is plain text. In Chinese prose each
line is a paragraph: such a block is *tight*, no blank line separates it from the one before.

`render_markdown` parses what it has written. Where the marks would change the words, it drops the
marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter

from markdown_it import MarkdownIt
from msgspec import Struct
from msgspec.structs import replace

_SCENE_BREAK = re.compile(
    r"[ \t　]*(?:(?:\*[ \t　]*)+|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:~[ \t]*)+|#|⁂|(?:[＊※◇◆☆★○●•·＃][ \t　]*)+)"
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_QUOTE = re.compile(r"[ \t]{0,3}>[ \t]?")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_TO_ESCAPE = re.compile(r"(?<=\S)\*|\*(?=\S)|(?<![^\W_])_|_(?![^\W_])|\\(?=[!-/:-@\[-`{-~\n]|$)")
_STYLE = attrgetter("italic", "bold")
_TRIMMED = " \t\xa0"
_MAX_QUOTE_DEPTH = 8
_MAX_MARKS = 2_000  # per paragraph: markdown-it takes quadratic time

# CommonMark sees no emphasis between `*` and full-width punctuation: `*“你好”*然后`. A letter on either side of the
# stars helps, so a private character is inserted before parsing and removed afterwards.
_JOINER = "\ue000"
_FULL_WIDTH_PUNCTUATION = re.compile(
    "[\u2014\u2018-\u201d\u2026\u3001-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)
_STARS = re.compile(r"(.?)((?<![\\*])\*+)(?=(.?))", re.DOTALL)


class TextRun(Struct, frozen=True, gc=False):
    """Some text in one style; line breaks inside are `\\n`."""

    text: str
    italic: bool = False
    bold: bool = False


class Block(Struct, frozen=True):
    """One paragraph or one scene break."""

    runs: tuple[TextRun, ...]
    quote_depth: int = 0
    tight: bool = False
    scene_break: bool = False

    @property
    def text(self) -> str:
        """The text without marks."""
        return _join(self.runs)


def is_cjk_prose(text: str) -> bool:
    """Tell Chinese or Japanese prose, in which a line is a paragraph."""
    lines = [line for line in text[:20_000].split("\n") if line.strip()]
    return 2 * sum(1 for line in lines if _CJK.search(line)) > len(lines)


def is_scene_break(line: str) -> bool:
    """Tell whether a line is a scene break such as `***`, `* * *`, `---` or `#`."""
    return len(line) < 80 and _SCENE_BREAK.fullmatch(line) is not None


def parse_heading(line: str) -> tuple[int, str] | None:
    """The level and title of a `#` heading; a lone `#` is a scene break."""
    match = _HEADING.fullmatch(line.rstrip(" \t")) if line.lstrip(" ").startswith("#") and len(line) < 1_000 else None
    if match is None or line.strip() == "#":
        return None
    return len(match[1]), _CLOSING_HASHES.sub("", match[2] or "").strip(" \t")


def make_block(runs: Iterable[TextRun], *, quote_depth: int = 0, tight: bool = False) -> Block | None:
    """Make a block of a document's paragraph, its edges trimmed; None when it has no text."""
    trimmed = _trim_lines(runs)
    if not trimmed:
        return None
    block = Block(trimmed, min(quote_depth, _MAX_QUOTE_DEPTH), tight)
    if is_scene_break(block.text):
        return replace(block, runs=(TextRun(block.text.strip()),), scene_break=True)
    return block


def parse_blocks(text: str) -> list[Block]:
    """Parse Markdown into blocks."""
    line_is_paragraph = is_cjk_prose(text)
    blocks: list[Block] = []
    lines: list[str] = []
    depth, tight, after_blank = 0, False, True

    def close_paragraph() -> None:
        if lines:
            blocks.append(Block(_parse_runs("\n".join(lines)), depth, tight))
            lines.clear()

    for line in text.split("\n"):
        quote_depth, content = _split_quote_marks(line)
        content = content.strip(" \t")
        if not content.strip():
            close_paragraph()
            after_blank = True
            continue
        heading = parse_heading(content)
        if is_scene_break(content):
            close_paragraph()
            blocks.append(Block((TextRun(content),), quote_depth, not after_blank, True))
        elif heading is not None:
            close_paragraph()
            if heading[1]:
                blocks.append(Block((TextRun(heading[1], bold=True),), quote_depth, not after_blank))
        else:
            if line_is_paragraph or quote_depth != depth or after_blank:
                close_paragraph()
            if not lines:
                depth, tight = quote_depth, not after_blank
            lines.append(content)
        after_blank = False
    close_paragraph()
    return blocks


def render_markdown(blocks: Iterable[Block]) -> str:
    """Write blocks as Markdown."""
    written: list[str] = []
    for block in blocks:
        lines = [block.text] if block.scene_break else _render_lines(block)
        if written:
            written.append("\n" if block.tight else "\n\n")
        written.append("\n".join("> " * block.quote_depth + line for line in lines))
    return "".join(written)


def _split_quote_marks(line: str) -> tuple[int, str]:
    depth = 0
    while depth < _MAX_QUOTE_DEPTH and (mark := _QUOTE.match(line)):
        depth += 1
        line = line[mark.end() :]
    return depth, line


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").disable(["link", "image", "autolink", "html_inline", "entity", "backticks"])


def _parse_runs(text: str) -> tuple[TextRun, ...]:
    """Parse the Markdown of one paragraph."""
    marks = text.count("*") + text.count("_")
    if (not marks and "\\" not in text) or marks > _MAX_MARKS:
        return (TextRun(text),)
    if _FULL_WIDTH_PUNCTUATION.search(text):
        text = _STARS.sub(_insert_joiners, text)
    runs: list[TextRun] = []
    italic = bold = 0
    for token in _inline_parser().parseInline(text)[0].children or ():
        match token.type:
            case "em_open" | "em_close":
                italic += token.nesting
            case "strong_open" | "strong_close":
                bold += token.nesting
            case "softbreak" | "hardbreak":
                runs.append(TextRun("\n", italic > 0, bold > 0))
            case _:
                runs.append(TextRun(token.content.replace(_JOINER, ""), italic > 0, bold > 0))
    return _merge(runs)


def _insert_joiners(match: re.Match[str]) -> str:
    before, stars, after = match[1], match[2], match[3]
    if not _FULL_WIDTH_PUNCTUATION.match(before) and not _FULL_WIDTH_PUNCTUATION.match(after):
        return match[0]
    return f"{before}{_JOINER if before.strip() else ''}{stars}{_JOINER if after.strip() else ''}"


def _join(runs: Iterable[TextRun]) -> str:
    return "".join([run.text for run in runs])


def _merge(runs: Iterable[TextRun]) -> tuple[TextRun, ...]:
    """Join neighbours of the same style and drop empty runs."""
    merged: list[TextRun] = []
    for (italic, bold), group in groupby([run for run in runs if run.text], key=_STYLE):
        first, *others = group
        merged.append(TextRun(_join((first, *others)), italic, bold) if others else first)
    return tuple(merged)


def _trim_lines(runs: Iterable[TextRun]) -> tuple[TextRun, ...]:
    """Remove blanks at the edges of lines; the full-width indents of Chinese stay."""
    runs = tuple(runs)
    if len(runs) == 1 and "\n" not in runs[0].text:
        return tuple(_trim_line(runs)) if runs[0].text.strip() else ()
    lines = [_trim_line(line) for line in _split_lines(runs)]
    filled = [at for at, line in enumerate(lines) if _join(line).strip()]
    if not filled:
        return ()
    trimmed = list(lines[filled[0]])
    for line in lines[filled[0] + 1 : filled[-1] + 1]:
        trimmed.extend((TextRun("\n"), *line))
    return _merge(trimmed)


def _trim_line(line: Sequence[TextRun]) -> deque[TextRun]:
    trimmed = deque(run for run in line if run.text)
    for at, strip in ((0, str.lstrip), (-1, str.rstrip)):
        while trimmed:
            text = strip(trimmed[at].text, _TRIMMED)
            if text:
                if text != trimmed[at].text:
                    trimmed[at] = replace(trimmed[at], text=text)
                break
            trimmed.popleft() if at == 0 else trimmed.pop()
    return trimmed


def _split_lines(runs: Iterable[TextRun]) -> list[list[TextRun]]:
    """Split runs at line breaks, so that each line has its own marks and can be read alone."""
    lines: list[list[TextRun]] = [[]]
    for run in runs:
        if "\n" not in run.text:
            lines[-1].append(run)
            continue
        first, *others = run.text.split("\n")
        lines[-1].append(replace(run, text=first))
        lines.extend([replace(run, text=text)] for text in others)
    return lines


def _render_lines(block: Block) -> list[str]:
    """Write the lines of a paragraph so that they read the same one by one and together."""
    lines = [_escape_start(_render_line(line)) for line in _split_lines(block.runs)]
    if len(lines) > 1 and _join(_parse_runs("\n".join(lines))) != block.text:
        return [_escape_start(_escape(line)) for line in block.text.split("\n")]
    return lines


def _escape_start(line: str) -> str:
    """Escape what would make a line a quotation, a heading or a scene break."""
    is_marked = line.startswith(">") or parse_heading(line) is not None or is_scene_break(line)
    return f"\\{line}" if is_marked and line[0] in ">#-_*~" else line


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(r"\\\g<0>", text) if any(mark in text for mark in "*_\\") else text


def _render_line(runs: Sequence[TextRun]) -> str:
    """Write runs as inline Markdown: with all marks, else italics only, else none, until the words are the same."""
    text = _join(runs)
    if any(run.italic or run.bold for run in runs) and len(runs) <= _MAX_MARKS:
        bold = _shrink_emphasis(text, bytearray(run.bold for run in runs for _ in run.text))
        italic = _shrink_emphasis(text, bytearray(run.italic for run in runs for _ in run.text))
        for marks in ({"**": bold, "*": italic}, {"*": italic}):
            marked = _nest_marks(text, marks, 0, len(text))
            if _join(_parse_runs(marked)) == text:
                return marked
    return _escape(text)


def _shrink_emphasis(text: str, flags: bytearray) -> bytearray:
    """Clear the flags at the edges of emphasis where Markdown accepts no mark: at blanks and inner punctuation."""
    start = _find_flag(flags, 1, 0, len(text))
    while start < len(text):
        end = stop = _find_flag(flags, 0, start, len(text))
        while start < end and not _can_carry_mark(text[start], text[start - 1] if start else " "):
            flags[start] = 0
            start += 1
        while start < end and not _can_carry_mark(text[end - 1], text[end] if end < len(text) else " "):
            end -= 1
            flags[end] = 0
        start = _find_flag(flags, 1, stop, len(text))
    return flags


def _nest_marks(text: str, marks: Mapping[str, bytearray], start: int, end: int) -> str:
    """Put each mark around the characters with its flag: around the longest stretch first, shorter ones inside it."""
    out: list[str] = []
    while start < end:
        ends = {mark: _find_flag(flags, 0, start, end) for mark, flags in marks.items()}
        mark = max(ends, key=ends.__getitem__, default="")
        stop = ends.get(mark, start)
        if stop > start:
            inner = {other: flags for other, flags in marks.items() if other != mark}
            out.append(f"{mark}{_nest_marks(text, inner, start, stop)}{mark}")
        else:
            stop = end
            for flags in marks.values():
                stop = _find_flag(flags, 1, start, stop)
            out.append(_escape(text[start:stop]))
        start = stop
    return "".join(out)


def _find_flag(flags: bytearray, value: int, start: int, end: int) -> int:
    """The first flag with that value; the end when there is none."""
    at = flags.find(value, start, end)
    return at if at >= 0 else end


def _can_carry_mark(inside: str, outside: str) -> bool:
    """Would a mark between these two characters open or close emphasis?"""
    return not inside.isspace() and (not _is_punctuation(inside) or outside.isspace() or _is_punctuation(outside))


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
