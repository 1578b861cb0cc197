"""The pages of an e-book as blocks.

A page is read as a stream of tags and text, not as a tree: broken markup costs a tag and not the
book, and nesting costs nothing. Entities are the ones of HTML; a page that defines its own is
refused. Along with the blocks goes what the table of contents needs: where each id stands, which
blocks are headings, and what the page says it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape

from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.prose import Block, Span, block
from fabula.formats.safe.encodings import decode

_TOKEN = re.compile(r"""<((?:[^<>"']++|"[^"<]*"|'[^'<]*')*+|[^<>]*+)>""")
_ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_DECLARED = re.compile(rb"""<\?xml[^>]*encoding=["']([\w.-]+)["']""")

_SILENT = frozenset(
    ("head", "script", "style", "svg", "math", "rt", "rp", "title", "audio", "video", "object", "select")
)
_BLOCKS = frozenset(
    [
        *("p", "div", "section", "article", "header", "footer", "aside", "main", "nav", "body", "html", "address"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "ul", "ol", "li", "dl", "dt", "dd", "table", "tr", "caption"),
        *("figure", "figcaption", "blockquote", "pre", "hr", "center", "form", "details", "summary"),
    ]
)
_ITALIC = frozenset(("em", "i", "cite", "var", "dfn"))
_BOLD = frozenset(("strong", "b"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_VOID = frozenset(("br", "hr", "img", "meta", "link", "input", "col", "wbr", "area", "base", "source", "image"))
_NOTES = frozenset(("noteref", "footnote", "endnote", "rearnote", "footnotes", "endnotes", "rearnotes", "pagebreak"))


class Page:
    """One page: its blocks, and where in them things stand."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.ids: dict[str, int] = {}
        self.headings: dict[int, int] = {}
        self.types: dict[int, set[str]] = {}
        self.kinds: set[str] = set()


def page_text(data: bytes, what: str) -> str:
    """The markup of a page as text, without comments; one that defines entities is refused."""
    declared = _DECLARED.match(data[:200].lstrip(b"\xef\xbb\xbf"))
    encoding = declared[1].decode("ascii").lower() if declared else ""
    text = ""
    if encoding and encoding not in ("utf-8", "utf8", "utf-16"):
        try:
            text = data.decode(encoding, "replace")
        except LookupError:
            text = ""
    text = text or decode(data, what)[0]
    if "<!entity" in text[:100_000].lower():
        raise FabulaError(
            Code.IMPORT_UNSAFE,
            f"{what}: it defines entities of its own, which no book needs. Nothing was imported. "
            "Do not trust this file; ask where it came from.",
        )
    return _without(_without(text, "<!--", "-->"), "<?", "?>").replace("<![CDATA[", "").replace("]]>", "")


def tokens(text: str) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Tags and text in order: `("p", "", {…})` opens, `("/p", "", {})` closes, `("", "words", {})` is text."""
    at = 0
    for match in _TOKEN.finditer(text):
        if match.start() > at:
            yield "", unescape(text[at : match.start()]), {}
        at = match.end()
        inside = match[1]
        name = inside.split(None, 1)[0].rstrip("/").lower() if inside.strip() else ""
        name = "/" + name[1:].rsplit(":", 1)[-1] if name.startswith("/") else name.rsplit(":", 1)[-1]
        if not name or name.startswith("!"):
            continue
        has = {m[1].lower(): unescape(m[2] or m[3] or "") for m in _ATTRIBUTE.finditer(inside)} if "=" in inside else {}
        yield name, "", has
        if inside.endswith("/") and not name.startswith("/"):
            yield f"/{name}", "", {}
    if at < len(text):
        yield "", unescape(text[at:]), {}


def read_page(text: str, looks: Mapping[str, tuple[bool, bool]]) -> Page:
    """A page as blocks; `looks` says which classes of the style sheet are italic or bold."""
    reader = _Reader(looks)
    for name, words, has in tokens(text):
        if words:
            reader.say(words)
        elif name.startswith("/"):
            reader.leave(name[1:])
        else:
            reader.enter(name, has)
    reader.close()
    return reader.page


class _Reader:
    """What is open while a page streams by."""

    def __init__(self, looks: Mapping[str, tuple[bool, bool]]) -> None:
        self.page = Page()
        self._looks = looks
        self._spans: list[Span] = []
        self._open: list[tuple[str, bool, bool]] = []  # tag, and whether it made things italic or bold
        self._italic = self._bold = self._silent = self._quote = self._pre = 0
        self._tight = False
        self._heading = 0
        self._lists: list[int] = []
        self._marker = ""
        self._muted: list[bool] = []

    def enter(self, name: str, has: Mapping[str, str]) -> None:
        types = set(has.get("epub:type", "").split()) | {r[4:] for r in has.get("role", "").split() if r[:4] == "doc-"}
        marks = has.get("class", "").split()
        if name in _BLOCKS:
            self.close()
        if "id" in has or (name == "a" and "name" in has):
            self.page.ids.setdefault(has.get("id") or has["name"], len(self.page.blocks))
        if name in ("body", "html"):
            self.page.kinds |= types
        elif name in ("section", "div", "article", "nav") and types | set(marks):
            self.page.types.setdefault(len(self.page.blocks), set()).update(types, marks)
        if name in _VOID:
            self._void(name)
            return
        silent = name in _SILENT or bool(types & _NOTES)
        plain = name in _BLOCKS or name in ("a", "ruby", "rb")
        italic, bold = (False, False) if plain else self._look(name, marks, has.get("style", ""))
        self._open.append((name, italic, bold))
        self._muted.append(silent)
        self._silent += silent
        self._italic += italic
        self._bold += bold
        self._quote += name == "blockquote"
        self._pre += name == "pre"
        if name in _HEADINGS:
            self._heading = _HEADINGS[name]
        elif name == "p":
            self._tight = "line" in marks
        elif name in ("ul", "ol"):
            self._lists.append(0 if name == "ol" else -1)
        elif name == "li" and self._lists and not self._silent:
            self._lists[-1] += self._lists[-1] >= 0
            self._marker = f"{self._lists[-1]}. " if self._lists[-1] > 0 else "- "

    def leave(self, name: str) -> None:
        if name in _BLOCKS:
            self.close()
        nearest = range(len(self._open), max(0, len(self._open) - 50), -1)
        depth = next((at for at in nearest if self._open[at - 1][0] == name), 0)
        if not depth:
            return
        while len(self._open) >= depth:
            tag, italic, bold = self._open.pop()
            self._silent -= self._muted.pop()
            self._italic -= italic
            self._bold -= bold
            self._quote -= tag == "blockquote"
            self._pre -= tag == "pre"
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            if tag in ("td", "th"):
                self._spans.append(Span(" "))

    def say(self, words: str) -> None:
        if not self._silent:
            words = words if self._pre else _BLANKS.sub(" ", words)
            self._spans.append(Span(words, self._italic > 0, self._bold > 0))

    def close(self) -> None:
        """End the block that is open, if it has words."""
        if not self._spans:
            return
        found = block(self._spans, quote=self._quote, tight=self._tight)
        if found is not None and self._marker and not found.rule:
            found = Block((Span(self._marker), *found.spans), found.quote, found.tight)
            self._marker = ""
        if found is not None:
            if self._heading:
                self.page.headings[len(self.page.blocks)] = self._heading
                found = Block((Span(_BLANKS.sub(" ", found.words), bold=True),), found.quote)
            self.page.blocks.append(found)
        self._spans = []
        self._heading = 0
        self._tight = False

    def _void(self, name: str) -> None:
        if name == "br" and not self._silent:
            self._spans.append(Span("\n"))
        elif name == "hr" and not self._silent:
            self.page.blocks.append(Block((Span("***"),), rule=True))

    def _look(self, name: str, marks: list[str], style: str) -> tuple[bool, bool]:
        italic = name in _ITALIC or ("font-style" in style and "italic" in style)
        bold = name in _BOLD or ("font-weight" in style and "bold" in style)
        for mark in marks:
            leaning, heavy = self._looks.get(mark, (False, False))
            italic, bold = italic or leaning, bold or heavy
        return italic, bold


def _without(text: str, start: str, end: str) -> str:
    """A text without what stands between two marks; the rest of it when the second is missing."""
    if start not in text:
        return text
    kept, at = [], 0
    while (begin := text.find(start, at)) >= 0:
        kept.append(text[at:begin])
        stop = text.find(end, begin)
        if stop < 0:
            return "".join(kept)
        at = stop + len(end)
    return "".join([*kept, text[at:]])
