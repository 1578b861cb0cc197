"""Read EPUB 2 and 3: the spine gives the order of the pages, the table of contents gives the tree.

The blocks of all pages are joined in the order of the spine. Each entry of the table of contents
points to one of them, and its text runs to the block of the next entry, across pages or within one.
Covers, title pages, imprints and notes are left out. A book without a table of contents is cut at
its headings. The table of contents is a page in EPUB 3 (`nav`) and an NCX file in EPUB 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from msgspec.structs import replace

from fabula.core.messages import message, plural
from fabula.formats.manuscripts.heading_tree import build_tree, join_sections
from fabula.formats.manuscripts.model import ImportedManuscript, Section
from fabula.formats.manuscripts.plain_text import split_plain_text, tidy_paragraphs
from fabula.formats.manuscripts.prose import Block, render_markdown
from fabula.formats.manuscripts.words import load_words
from fabula.formats.manuscripts.xhtml import XhtmlPage, decode_page, iterate_tokens, parse_page
from fabula.formats.safe.files import FileCollection
from fabula.formats.safe.import_errors import SAVE_AGAIN, refuse_unreadable
from fabula.formats.safe.xml_reader import (
    check_tag_count,
    find_children,
    find_path,
    get_attribute,
    local_name,
    parse_xml,
    read_text,
)
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft

CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_NOT_STORY_TYPES = load_words("epub", "not_story_types")
_NOT_STORY_TITLE = re.compile(
    r"cover|title[ -]?page|half[ -]?title|(?:table of )?contents|copyright(?: page| notice)?|imprint|colophon|"
    r"uncopyright|also by .*|封面|书名页|版权(?:页|信息)?|版權(?:頁)?|目录|目錄|目次|扉页",
    re.IGNORECASE,
)
_NOT_STORY_FILE = re.compile(
    r"(?:.*[/_-])?(?:cover|titlepage|title_page|nav|toc|copyright|colophon|imprint)[_\d]*\.x?html?"
)
_OUR_KINDS = {f"fabula-{kind}": kind for kind in DocumentKind if kind is not DocumentKind.NOTE}
_KINDS = {**_OUR_KINDS, "volume": DocumentKind.BOOK, "part": DocumentKind.PART, "chapter": DocumentKind.CHAPTER}
_MAX_CSS_BYTES = 500_000
_MAX_UNLISTED_OPENING = 1_500  # characters before the first entry that are taken for front matter


class _TocEntry(NamedTuple):
    """An entry of the table of contents."""

    level: int
    title: str
    page: str
    fragment: str


class _Package(NamedTuple):
    """The package file: its folder, its root, its manifest with the paths of the items, its pages in order."""

    base: str
    root: Element
    manifest: list[tuple[str, Element]]
    spine: list[str]


class _JoinedPages(NamedTuple):
    """The blocks of all pages, the levels of the headings among them, and the first block of each page."""

    blocks: list[Block]
    headings: dict[int, int]
    first_blocks: dict[str, int]


def read_epub(files: FileCollection) -> ImportedManuscript:
    """Read an EPUB, as an archive or an unpacked folder."""
    package = _open_package(files)
    _check_protection(files, package)
    styles = _read_css_classes(files, package)
    contents, contents_page = _read_contents(files, package)
    skipped_names = {*_find_guide_pages(package), contents_page}
    pages: dict[str, XhtmlPage] = {}
    skipped = tags = 0
    for name in package.spine:
        text = decode_page(files.read(name), name)
        tags += text.count("<")
        check_tag_count(tags, files.label)
        page = parse_page(text, styles)
        types = page.types | page.block_types.get(0, set())
        if name in skipped_names or types & _NOT_STORY_TYPES or _NOT_STORY_FILE.fullmatch(name.lower()):
            skipped += bool(page.blocks)
        else:
            pages[name] = page
    book = _make_book(package, build_tree(_split_book(pages, contents)))
    warning = plural(
        skipped,
        "One page that is not part of the story (a cover, a title page or notes) was left out.",
        "{count} pages that are not part of the story (such as cover, title page and notes) were left out.",
    )
    return ImportedManuscript(book=book, warnings=(warning,) if skipped else ())


def _open_package(files: FileCollection) -> _Package:
    container = parse_xml(files.read(CONTAINER), CONTAINER)
    path = next((get_attribute(e, "full-path") for e in container.iter() if local_name(e) == "rootfile"), "")
    path = normpath(unquote(path)) if path else next((n for n in files.names if n.endswith(".opf")), "")
    if path not in files.names:
        refuse_unreadable(files.label, message("it does not say where its book is"), SAVE_AGAIN)
    root = parse_xml(files.read(path), path)
    base = dirname(path)
    known = frozenset(files.names)
    items = [element for element in root.iter() if local_name(element) == "item"]
    manifest = [(name, e) for e in items if (name := _resolve(base, get_attribute(e, "href"))) in known]
    names = {get_attribute(element, "id"): name for name, element in manifest}
    references = [get_attribute(element, "idref") for element in root.iter() if local_name(element) == "itemref"]
    spine = list(dict.fromkeys(names[ident] for ident in references if ident in names))
    if not spine:
        refuse_unreadable(files.label, message("it has no pages"), SAVE_AGAIN)
    return _Package(base, root, manifest, spine)


def _check_protection(files: FileCollection, package: _Package) -> None:
    """Refuse encrypted pages; fonts may be obfuscated."""
    if _ENCRYPTION in files.names:
        root = parse_xml(files.read(_ENCRYPTION), _ENCRYPTION)
        if {_resolve("", get_attribute(element, "URI")) for element in root.iter()} & set(package.spine):
            remedy = message("Ask the seller for a copy without protection.")
            refuse_unreadable(files.label, message("its pages are protected (DRM)"), remedy)


def _read_css_classes(files: FileCollection, package: _Package) -> dict[str, tuple[bool, bool]]:
    """Which classes of the style sheets are italic and which are bold."""
    classes: dict[str, tuple[bool, bool]] = {}
    for name, item in package.manifest:
        if get_attribute(item, "media-type") != "text/css":
            continue
        for rule in files.read(name)[:_MAX_CSS_BYTES].decode("utf-8", "replace").split("}"):
            selectors, _, style = rule.rpartition("{")
            style = style.replace(" ", "").lower()
            look = ("font-style:italic" in style, "font-weight:bold" in style)
            if any(look):
                names = (selector.strip().rpartition(".")[2] for selector in selectors.split(",") if "." in selector)
                classes.update(dict.fromkeys(names, look))
    return classes


def _find_guide_pages(package: _Package) -> Iterator[str]:
    """The pages that the guide of an EPUB 2 calls cover, title page and the like."""
    for reference in find_children(find_path(package.root, "guide"), "reference"):
        if get_attribute(reference, "type").lower() in _NOT_STORY_TYPES:
            yield _resolve(package.base, get_attribute(reference, "href"))


def _read_contents(files: FileCollection, package: _Package) -> tuple[list[_TocEntry], str]:
    """The table of contents, and the page it stands on."""
    for name, item in package.manifest:
        if "nav" in get_attribute(item, "properties").split():
            entries = list(_read_nav(decode_page(files.read(name), name), dirname(name)))
            if entries:
                return entries, name
    for name, item in package.manifest:
        if get_attribute(item, "media-type") == "application/x-dtbncx+xml":
            return list(_read_ncx(parse_xml(files.read(name), name), dirname(name))), ""
    return [], ""


def _read_nav(text: str, base: str) -> Iterator[_TocEntry]:
    """The entries of the table of contents of an EPUB 3."""
    title: list[str] = []
    in_contents, depth, href = False, 0, ""
    for name, text_token, attributes in iterate_tokens(text):
        if name == "nav":
            in_contents = attributes.get("epub:type", "toc") == "toc" or attributes.get("role") == "doc-toc"
        elif name == "/nav":
            in_contents = False
        elif not in_contents:
            continue
        elif name == "ol":
            depth += 1
        elif name == "/ol":
            depth -= 1
        elif name in ("a", "span") and not href:
            href, title = attributes.get("href", "#"), []
        elif text_token:
            title.append(text_token)
        elif name in ("/a", "/span") and href:
            yield _make_entry(depth, "".join(title), href, base)
            href = ""


def _read_ncx(root: Element, base: str) -> Iterator[_TocEntry]:
    """The entries of the table of contents of an EPUB 2."""
    pending = [(point, 1) for point in reversed(find_children(find_path(root, "navMap"), "navPoint"))]
    while pending:
        point, level = pending.pop()
        href = get_attribute(find_path(point, "content"), "src") or "#"
        yield _make_entry(level, read_text(find_path(point, "navLabel")), href, base)
        pending.extend((below, level + 1) for below in reversed(find_children(point, "navPoint")))


def _make_entry(level: int, title: str, href: str, base: str) -> _TocEntry:
    path, _, fragment = href.partition("#")
    title = re.sub(r"[ \t\r\n\xa0]+", " ", title).strip()
    return _TocEntry(max(1, min(level, 12)), title, _resolve(base, path) if path else "", unquote(fragment))


def _make_book(package: _Package, drafts: tuple[DocumentDraft, ...]) -> ManuscriptDraft:
    """The book with its title, authors and language from the metadata."""
    metadata = find_path(package.root, "metadata")
    elements = list(metadata.iter()) if metadata is not None else []
    roles = {get_attribute(e, "refines"): read_text(e) for e in elements if get_attribute(e, "property") == "role"}
    authors = [
        read_text(e)
        for e in elements
        if local_name(e) == "creator"
        and (get_attribute(e, "role") or roles.get(f"#{get_attribute(e, 'id')}", "aut")) == "aut"
    ]
    language = next((read_text(e) for e in elements if local_name(e) == "language"), "")
    return ManuscriptDraft(
        title=next((read_text(e) for e in elements if local_name(e) == "title"), ""),
        authors=tuple(name for name in authors if name),
        language="" if language == "und" else language,
        drafts=drafts,
    )


def _resolve(base: str, href: str) -> str:
    """The path of a link inside the archive."""
    return normpath(join(base, unquote(href.split("#", 1)[0])))


def _split_book(pages: dict[str, XhtmlPage], contents: Sequence[_TocEntry]) -> list[Section]:
    """Cut the joined pages at the entries of the table of contents."""
    joined = _join_pages(pages)
    is_ours = any(
        name in _OUR_KINDS for page in pages.values() for types in page.block_types.values() for name in types
    )
    entries = contents if is_ours else [entry for entry in contents if not _NOT_STORY_TITLE.fullmatch(entry.title)]
    starts = _find_starts(pages, joined, entries)
    if not is_ours and len({block for block, _ in starts}) < 2:
        return _split_at_headings(pages, joined, starts)
    order = sorted(range(len(starts)), key=lambda at: starts[at][0])
    first_blocks = [*(starts[at][0] for at in order), len(joined.blocks)]
    ends = dict(zip(order, first_blocks[1:], strict=True))
    sections = [
        replace(section, text=_render_section(joined, block, ends[at], section.title))
        for at, (block, section) in enumerate(starts)
    ]
    opening = render_markdown(joined.blocks[: first_blocks[0]])
    if len(opening) > _MAX_UNLISTED_OPENING:
        sections.insert(0, Section(level=1, title="", text=opening, kind=DocumentKind.CHAPTER))
    return sections


def _join_pages(pages: dict[str, XhtmlPage]) -> _JoinedPages:
    joined = _JoinedPages([], {}, {})
    for name, page in pages.items():
        joined.first_blocks[name] = len(joined.blocks)
        joined.headings.update({len(joined.blocks) + at: level for at, level in page.headings.items()})
        joined.blocks.extend(page.blocks)
    return joined


def _find_starts(
    pages: dict[str, XhtmlPage], joined: _JoinedPages, entries: Sequence[_TocEntry]
) -> list[tuple[int, Section]]:
    """The first block of each entry and its section, still without text.

    An entry without a page of its own begins where the next one does.
    """
    starts: list[tuple[int, Section]] = []
    block: int | None = None
    for entry in reversed(entries):
        page = pages.get(entry.page)
        types: set[str] = set()
        if page is not None:
            at = page.ids.get(entry.fragment, 0)
            types = page.block_types.get(at, set()) | (set() if at else page.types)
            block = joined.first_blocks[entry.page] + at
        elif entry.page or block is None:
            continue
        kind = next((kind for name, kind in _KINDS.items() if name in types), None)
        title = "" if "fabula-untitled" in types else entry.title
        starts.append((block, Section(level=entry.level, title=title, kind=kind)))
    return starts[::-1]


def _split_at_headings(
    pages: dict[str, XhtmlPage], joined: _JoinedPages, starts: Sequence[tuple[int, Section]]
) -> list[Section]:
    """Cut a book without a usable table of contents: at headings, else at heading lines, else by page."""
    blocks = joined.blocks
    if len(joined.headings) > 1 or (joined.headings and not starts):
        opening, *sections = join_sections(
            Section(level=joined.headings[at], title=block.text) if at in joined.headings else block
            for at, block in enumerate(blocks)
        )
        return [replace(opening, level=1), *sections] if len(opening.text) > _MAX_UNLISTED_OPENING else sections
    plain = [section for section in split_plain_text(render_markdown(blocks)) if section.level or section.text.strip()]
    if len(plain) > 1:
        return [Section(level=s.level or 1, title=s.title, text=tidy_paragraphs(s.text)) for s in plain]
    if starts:
        section = starts[0][1]
        return [replace(section, level=1, text=_render_section(joined, 0, len(blocks), section.title))]
    return [Section(level=1, title="", text=render_markdown(page.blocks)) for page in pages.values() if page.blocks]


def _render_section(joined: _JoinedPages, start: int, end: int, title: str) -> str:
    """The text of a section without its heading, which may be spread over several blocks."""
    heading = _letters(title) or title
    at = start
    while at < min(end, start + 4) and heading:
        text = _letters(joined.blocks[at].text) or joined.blocks[at].text
        is_title = text == heading and (at in joined.headings or at == start)
        if not is_title and not (at in joined.headings and (text in heading or heading in text)):
            break
        at += 1
        if is_title:
            break
    return render_markdown(joined.blocks[at:end])


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
