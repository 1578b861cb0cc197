"""What an EPUB says about itself: its pages in order, its table of contents, its title and authors.

The package file names everything; the table of contents is a page of an EPUB 3 (`nav`) or the NCX
file of an EPUB 2. Both become the same list of entries.
"""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from fabula.formats.manuscripts.imported import unreadable
from fabula.formats.manuscripts.xhtml import page_text, tokens
from fabula.formats.safe.folder import Files
from fabula.formats.safe.xml_reader import attribute, children, first, local, parse_xml, words
from fabula.manuscript.drafts import Book, Draft

CONTAINER = "META-INF/container.xml"
APART = frozenset(
    [
        *("cover", "frontcover", "titlepage", "title-page", "halftitlepage", "halftitle", "copyright-page"),
        *("copyright", "imprint", "colophon", "toc", "landmarks", "loi", "lot", "page-list", "index", "endnotes"),
        *("footnotes", "rearnotes", "backlink", "contributors", "other-credits", "seriespage"),
    ]
)
_MOST_CSS = 500_000


class Entry(NamedTuple):
    """A line of the table of contents."""

    level: int
    title: str
    page: str
    fragment: str


class Package(NamedTuple):
    """The package file, where it lies, what it lists, and its pages in order."""

    root: Element
    base: str
    items: dict[str, Element]
    spine: list[str]


def open_package(files: Files) -> Package:
    """The package of an EPUB; a book without pages is refused."""
    container = parse_xml(files.read(CONTAINER), CONTAINER)
    path = next((attribute(e, "full-path") for e in container.iter() if local(e) == "rootfile"), "")
    path = normpath(unquote(path)) if path else next((n for n in files.names if n.endswith(".opf")), "")
    if path not in files.names:
        unreadable(files.label, "the EPUB does not say where its book is", "Save it again, for example with Calibre.")
    root = parse_xml(files.read(path), path)
    base = dirname(path)
    known = set(files.names)
    items = {attribute(e, "id"): e for e in root.iter() if local(e) == "item"}
    spine: list[str] = []
    for reference in root.iter():
        item = items.get(attribute(reference, "idref")) if local(reference) == "itemref" else None
        name = _target(base, attribute(item, "href")) if item is not None else ""
        if name in known and name not in spine:
            spine.append(name)
    if not spine:
        unreadable(files.label, "the EPUB names no pages", "Save it again, for example with Calibre.")
    return Package(root, base, items, spine)


def check_protection(files: Files, package: Package) -> None:
    """Fonts may be obfuscated; pages that are encrypted cannot be read."""
    name = "META-INF/encryption.xml"
    if name in files.names:
        locked = {_target("", attribute(e, "URI")) for e in parse_xml(files.read(name), name).iter()}
        if locked & set(package.spine):
            unreadable(files.label, "its pages are protected (DRM)", "Ask the seller for a copy without protection.")


def looks_of(files: Files, package: Package) -> dict[str, tuple[bool, bool]]:
    """Which classes of the style sheets are italic or bold."""
    found: dict[str, tuple[bool, bool]] = {}
    for item in package.items.values():
        name = _target(package.base, attribute(item, "href"))
        if attribute(item, "media-type") == "text/css" and name in files.names:
            for rule in files.read(name)[:_MOST_CSS].decode("utf-8", "replace").split("}"):
                selector, _, style = rule.rpartition("{")
                style = style.replace(" ", "").lower()
                look = ("font-style:italic" in style, "font-weight:bold" in style)
                if any(look):
                    found.update({part.strip().rpartition(".")[2]: look for part in selector.split(",") if "." in part})
    return found


def guided(package: Package) -> set[str]:
    """The pages that an EPUB 2 calls cover, title page and the like."""
    guide = first(package.root, "guide")
    references = children(guide, "reference") if guide is not None else []
    return {_target(package.base, attribute(r, "href")) for r in references if attribute(r, "type").lower() in APART}


def contents_of(files: Files, package: Package) -> tuple[list[Entry], str]:
    """The table of contents, and the page that holds it."""
    for item in package.items.values():
        name = _target(package.base, attribute(item, "href"))
        told = "nav" in attribute(item, "properties").split() and name in files.names
        if told and (found := _navigation(page_text(files.read(name), name), dirname(name))):
            return found, name
    for item in package.items.values():
        name = _target(package.base, attribute(item, "href"))
        if attribute(item, "media-type") == "application/x-dtbncx+xml" and name in files.names:
            return _ncx(parse_xml(files.read(name), name), dirname(name)), ""
    return [], ""


def described(package: Package, drafts: tuple[Draft, ...]) -> Book:
    """The book with what the package tells about it."""
    metadata = first(package.root, "metadata")
    told = list(metadata.iter()) if metadata is not None else []
    roles = {attribute(e, "refines"): words(e) for e in told if attribute(e, "property") == "role"}
    titles = [words(e) for e in told if local(e) == "title"]
    language = next((words(e) for e in told if local(e) == "language"), "")
    authors = [
        words(e)
        for e in told
        if local(e) == "creator" and (attribute(e, "role") or roles.get(f"#{attribute(e, 'id')}", "aut")) == "aut"
    ]
    return Book(
        title=titles[0] if titles else "",
        authors=tuple(name for name in authors if name),
        language="" if language == "und" else language,
        drafts=drafts,
    )


def _target(base: str, href: str) -> str:
    return normpath(join(base, unquote(href.split("#", 1)[0])))


def _navigation(text: str, base: str) -> list[Entry]:
    found: list[Entry] = []
    title: list[str] = []
    inside, depth, href = False, 0, ""
    for name, said, has in tokens(text):
        if name == "nav":
            inside = has.get("epub:type", "toc") == "toc" or has.get("role") == "doc-toc"
        elif name == "/nav":
            inside = False
        elif not inside:
            continue
        elif name == "ol":
            depth += 1
        elif name == "/ol":
            depth -= 1
        elif name in ("a", "span") and not href:
            href, title = has.get("href", "#"), []
        elif said:
            title.append(said)
        elif name in ("/a", "/span") and href:
            found.append(_entry(depth, "".join(title), href, base))
            href = ""
    return found


def _ncx(root: Element, base: str) -> list[Entry]:
    found: list[Entry] = []
    start = first(root, "navMap")
    waiting = [(point, 1) for point in reversed(children(start, "navPoint"))] if start is not None else []
    while waiting:
        point, level = waiting.pop()
        content = first(point, "content")
        href = attribute(content, "src") if content is not None else "#"
        found.append(_entry(level, words(first(point, "navLabel")), href, base))
        waiting.extend((below, level + 1) for below in reversed(children(point, "navPoint")))
    return found


def _entry(level: int, title: str, href: str, base: str) -> Entry:
    path, _, fragment = href.partition("#")
    title = re.sub(r"[ \t\r\n\xa0]+", " ", title).strip()
    return Entry(max(1, min(level, 12)), title, _target(base, path) if path else "", unquote(fragment))
