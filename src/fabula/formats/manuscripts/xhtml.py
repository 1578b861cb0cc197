"""Parse the XHTML pages of an e-book into blocks.

A page is read as a stream of tags and text and not as a tree, so broken markup costs one tag and deep
nesting costs nothing. The tokeniser is our own because `html.parser` takes quadratic time on some broken
pages (44 s for 200 kB of `<!--` on Python 3.11). Entities are those of HTML; a page that defines
others is refused. Besides its blocks a page has what the table of contents needs: the block of each
id, the headings, and the types that the page and its sections declare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html import unescape
from typing import NamedTuple

from msgspec.structs import replace

from fabula.core.messages import message
from fabula.formats.manuscripts.prose import Block, TextRun, make_block
from fabula.formats.manuscripts.words import load_words
from fabula.formats.safe.encodings import decode_text
from fabula.formats.safe.import_errors import refuse_unsafe

_TAG = re.compile(r"""<((?:[^<>"']++|"[^"<]*"|'[^'<]*')*+|[^<>]*+)>""")
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
_WHITE_SPACE = re.compile(r"[ \t\r\n\f]+")
_DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]*encoding=["']([\w.-]+)["']""")

_HIDDEN_TAGS = load_words("xhtml", "hidden_tags")
_BLOCK_TAGS = load_words("xhtml", "block_tags")
_UNSTYLED_TAGS = _BLOCK_TAGS | load_words("xhtml", "unstyled_inline_tags")
_ITALIC_TAGS = load_words("xhtml", "italic_tags")
_BOLD_TAGS = load_words("xhtml", "bold_tags")
_HEADING_LEVELS = {f"h{level}": level for level in range(1, 7)}
_VOID_TAGS = load_words("xhtml", "void_tags")
_NOTE_TYPES = load_words("xhtml", "note_types")
_MAX_UNCLOSED = 50  # tags that a closing tag may close along with its own


class XhtmlPage:
    """One page: its blocks, and the blocks at which ids, headings and typed sections begin."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.ids: dict[str, int] = {}
        self.headings: dict[int, int] = {}
        self.block_types: dict[int, set[str]] = {}
        self.types: set[str] = set()


def decode_page(data: bytes, label: str) -> str:
    """Decode the markup of a page and remove comments; a page that defines entities is refused."""
    declared = _DECLARED_ENCODING.match(data[:200].lstrip(b"\xef\xbb\xbf"))
    encoding = declared[1].decode("ascii").lower() if declared else ""
    text = ""
    if encoding and encoding not in ("utf-8", "utf8", "utf-16"):
        with suppress(LookupError):
            text = data.decode(encoding, "replace")
    text = text or decode_text(data, label)[0]
    if "<!entity" in text[:100_000].lower():
        refuse_unsafe(label, message("it defines entities or points to other files, which no manuscript needs"))
    text = _remove_between(_remove_between(text, "<!--", "-->"), "<?", "?>")
    return text.replace("<![CDATA[", "").replace("]]>", "")


def iterate_tokens(text: str) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Yield tags and text: `("p", "", {…})` opens, `("/p", "", {})` closes, `("", "words", {})` is text."""
    at = 0
    for match in _TAG.finditer(text):
        if match.start() > at:
            yield "", unescape(text[at : match.start()]), {}
        at = match.end()
        tag = match[1]
        name = tag.split(None, 1)[0].rstrip("/").lower() if tag.strip() else ""
        name = "/" + name[1:].rsplit(":", 1)[-1] if name.startswith("/") else name.rsplit(":", 1)[-1]
        if not name or name.startswith("!"):
            continue
        yield name, "", {m[1].lower(): unescape(m[2] or m[3] or "") for m in _ATTRIBUTE.finditer(tag)}
        if tag.endswith("/") and not name.startswith("/"):
            yield f"/{name}", "", {}
    if at < len(text):
        yield "", unescape(text[at:]), {}


def parse_page(text: str, css_classes: Mapping[str, tuple[bool, bool]]) -> XhtmlPage:
    """Parse a page into blocks; `css_classes` says which classes are italic and which bold."""
    parser = _PageParser(css_classes)
    for name, text_token, attributes in iterate_tokens(text):
        if text_token:
            parser.add_text(text_token)
        elif name.startswith("/"):
            parser.close_tag(name[1:])
        else:
            parser.open_tag(name, attributes)
    parser.close_block()
    return parser.page


class _OpenTag(NamedTuple):
    """A tag that is open, and what applies inside it."""

    name: str = ""
    italic: bool = False
    bold: bool = False
    hidden: bool = False
    preformatted: bool = False
    quote_depth: int = 0


class _PageParser:
    """The state of a parser while a page streams by."""

    def __init__(self, css_classes: Mapping[str, tuple[bool, bool]]) -> None:
        self.page = XhtmlPage()
        self._css_classes = css_classes
        self._runs: list[TextRun] = []
        self._open = [_OpenTag()]
        self._tight = False
        self._heading_level = 0
        self._list_numbers: list[int] = []  # of the open lists; -1 for one without numbers
        self._list_marker = ""

    def open_tag(self, name: str, attributes: Mapping[str, str]) -> None:
        roles = {role[4:] for role in attributes.get("role", "").split() if role.startswith("doc-")}
        types = {*attributes.get("epub:type", "").split(), *roles}
        classes = attributes.get("class", "").split()
        if name in _BLOCK_TAGS:
            self.close_block()
        if "id" in attributes or (name == "a" and "name" in attributes):
            self.page.ids.setdefault(attributes.get("id") or attributes["name"], len(self.page.blocks))
        if name in ("body", "html"):
            self.page.types |= types
        elif name in ("section", "div", "article", "nav") and (types or classes):
            self.page.block_types.setdefault(len(self.page.blocks), set()).update(types, classes)
        if name in _VOID_TAGS:
            if name == "br" and not self._open[-1].hidden:
                self._runs.append(TextRun("\n"))
            elif name == "hr" and not self._open[-1].hidden:
                self.page.blocks.append(Block((TextRun("***"),), scene_break=True))
            return
        italic, bold = self._find_look(name, classes, attributes.get("style", ""))
        outer = self._open[-1]
        hidden = outer.hidden or name in _HIDDEN_TAGS or bool(types & _NOTE_TYPES)
        preformatted = outer.preformatted or name == "pre"
        depth = outer.quote_depth + (name == "blockquote")
        self._open.append(_OpenTag(name, italic or outer.italic, bold or outer.bold, hidden, preformatted, depth))
        if name in _HEADING_LEVELS:
            self._heading_level = _HEADING_LEVELS[name]
        elif name == "p":
            self._tight = "line" in classes
        elif name in ("ul", "ol"):
            self._list_numbers.append(0 if name == "ol" else -1)
        elif name == "li" and self._list_numbers and not hidden:
            self._list_numbers[-1] += self._list_numbers[-1] >= 0
            self._list_marker = f"{self._list_numbers[-1]}. " if self._list_numbers[-1] > 0 else "- "

    def close_tag(self, name: str) -> None:
        if name in _BLOCK_TAGS:
            self.close_block()
        nearest = range(len(self._open) - 1, max(0, len(self._open) - 1 - _MAX_UNCLOSED), -1)
        depth = next((at for at in nearest if self._open[at].name == name), len(self._open))
        for tag in reversed(self._open[depth:]):
            if tag.name in ("ul", "ol") and self._list_numbers:
                self._list_numbers.pop()
            if tag.name in ("td", "th"):
                self._runs.append(TextRun(" "))
        del self._open[depth:]

    def add_text(self, text: str) -> None:
        inside = self._open[-1]
        if not inside.hidden:
            text = text if inside.preformatted else _WHITE_SPACE.sub(" ", text)
            self._runs.append(TextRun(text, inside.italic, inside.bold))

    def close_block(self) -> None:
        """End the block that is open, if it has text."""
        if not self._runs:
            return
        block = make_block(self._runs, quote_depth=self._open[-1].quote_depth, tight=self._tight)
        if block is not None:
            if self._list_marker and not block.scene_break:
                block = replace(block, runs=(TextRun(self._list_marker), *block.runs))
                self._list_marker = ""
            if self._heading_level:
                self.page.headings[len(self.page.blocks)] = self._heading_level
                block = Block((TextRun(_WHITE_SPACE.sub(" ", block.text), bold=True),), block.quote_depth)
            self.page.blocks.append(block)
        self._runs = []
        self._heading_level = 0
        self._tight = False

    def _find_look(self, name: str, classes: list[str], style: str) -> tuple[bool, bool]:
        """Whether a tag makes its text italic or bold."""
        if name in _UNSTYLED_TAGS:
            return False, False
        looks = [self._css_classes.get(css_class, (False, False)) for css_class in classes]
        italic = name in _ITALIC_TAGS or ("font-style" in style and "italic" in style)
        bold = name in _BOLD_TAGS or ("font-weight" in style and "bold" in style)
        return italic or any(look[0] for look in looks), bold or any(look[1] for look in looks)


def _remove_between(text: str, start: str, end: str) -> str:
    """Remove everything from each start mark to its end mark; without one, to the end of the text."""
    if start not in text:
        return text
    parts, at = [], 0
    while (begin := text.find(start, at)) >= 0:
        parts.append(text[at:begin])
        stop = text.find(end, begin)
        if stop < 0:
            return "".join(parts)
        at = stop + len(end)
    return "".join([*parts, text[at:]])
