"""Scrivener projects in: the binder is the tree, each document an RTF file beside it.

Scrivener 3 keeps a document in `Files/Data/<UUID>/content.rtf`, Scrivener 2 in `Files/Docs/<ID>.rtf`,
each with a synopsis and notes. The draft folder is the manuscript; everything else (research,
characters, places) comes along as notes, and so does what is not compiled. What was thrown away
stays away.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from msgspec.structs import replace

from fabula.formats.manuscripts.heading_tree import Section, grow
from fabula.formats.manuscripts.imported import Imported, unreadable
from fabula.formats.manuscripts.plain_text import tidy
from fabula.formats.manuscripts.rtf import rtf_markdown
from fabula.formats.safe.encodings import decode
from fabula.formats.safe.folder import Files
from fabula.formats.safe.xml_reader import children, first, parse_xml, words
from fabula.manuscript.drafts import Book, Draft, Kind

_AWAY = frozenset(("TrashFolder", "TemplateFolder", "BookmarksFolder"))
_TEXTS = frozenset(("DraftFolder", "ResearchFolder", "Folder", "Text", "Root", ""))


def project_of(files: Files) -> str:
    """The binder of the project among the files, if there is one: not deeper than one folder down."""
    found = [name for name in files.names if name.lower().endswith(".scrivx") and name.count("/") <= 1]
    return min(found, key=lambda name: (name.count("/"), name), default="")


def read_scrivener(files: Files) -> Imported:
    """A Scrivener 2 or 3 project."""
    name = project_of(files)
    if not name:
        unreadable(files.label, "there is no Scrivener binder in it", "Name the .scriv folder, or a ZIP of it.")
    root = parse_xml(files.read(name), name)
    binder = first(root, "Binder")
    reader = _Reader(files, name.rsplit("/", 1)[0] + "/" if "/" in name else "")
    tops = children(binder, "BinderItem") if binder is not None else []
    drafts: list[Draft] = []
    notes: list[Draft] = []
    for top in tops:
        kind = top.get("Type", "")
        if kind == "DraftFolder":
            drafts.extend(grow(reader.sections(top), folders=True))
        elif kind not in _AWAY:
            sections = [Section(level=1, title=reader.title(top)), *reader.sections(top)]
            lifted = [sections[0], *(replace(section, level=section.level + 1) for section in sections[1:])]
            notes.extend(_as_notes(grow([replace(section, kind=Kind.NOTE) for section in lifted])))
    told = first(root, "ProjectProperties")
    author = words(first(told, "FullName")) if told is not None else ""
    title = words(first(told, "ProjectTitle")) if told is not None else ""
    author = author or root.get("Author", "").strip()
    book = Book(
        title=title or name.rsplit("/", 1)[-1].rsplit(".", 1)[0],
        authors=(author,) if author else (),
        drafts=(*drafts, *notes),
    )
    return Imported(book=book, warnings=reader.warnings())


def _as_notes(drafts: tuple[Draft, ...]) -> list[Draft]:
    """Notes that hold something, or have something below them that does."""
    kept = []
    for draft in drafts:
        below = _as_notes(draft.children)
        if below or draft.text or draft.synopsis or draft.notes:
            kept.append(replace(draft, children=tuple(below)))
    return kept


class _Reader:
    """The documents of a project, and what could not be read of them."""

    def __init__(self, files: Files, base: str) -> None:
        self._files = files
        self._known = {name.lower(): name for name in files.names}
        self._base = base
        self._skipped = 0
        self._apart = 0

    def title(self, item: Element) -> str:
        """The title of a binder item."""
        return words(first(item, "Title"))

    def sections(self, folder: Element, level: int = 1) -> list[Section]:
        """Everything below a folder of the binder, in order."""
        found: list[Section] = []
        below = first(folder, "Children")
        for item in children(below, "BinderItem") if below is not None else []:
            kind = item.get("Type", "")
            if kind in _AWAY:
                continue
            inside = self.sections(item, level + 1)
            if kind not in _TEXTS and not inside:
                self._skipped += 1
                continue
            found.append(self._section(item, level, leaf=not inside))
            found.extend(inside)
        return found

    def warnings(self) -> tuple[str, ...]:
        """What the person should know."""
        said = []
        if self._skipped:
            said.append(f"{self._skipped} items that are not text (pictures, PDFs, web pages) were left out.")
        if self._apart:
            said.append(f"{self._apart} documents that are not compiled came along as notes.")
        return tuple(said)

    def _section(self, item: Element, level: int, *, leaf: bool) -> Section:
        ident = item.get("UUID") or item.get("ID") or ""
        metadata = first(item, "MetaData")
        compiled = metadata is None or words(first(metadata, "IncludeInCompile")) != "No"
        self._apart += leaf and not compiled
        return Section(
            level=level,
            title=self.title(item),
            text=self._text(f"data/{ident}/content.rtf", f"docs/{ident}.rtf")
            or self._text(f"data/{ident}/content.txt", f"docs/{ident}.txt"),
            synopsis=self._text(f"data/{ident}/synopsis.txt", f"docs/{ident}_synopsis.txt"),
            notes=self._text(f"data/{ident}/notes.rtf", f"docs/{ident}_notes.rtf"),
            kind=Kind.NOTE if leaf and not compiled else None,
        )

    def _text(self, *names: str) -> str:
        for name in names:
            path = self._known.get(f"{self._base}files/{name}".lower())
            if path is None:
                continue
            data = self._files.read(path)
            if not data.strip():
                return ""
            if path.lower().endswith(".txt"):
                return tidy(decode(data, path)[0])
            return rtf_markdown(data, path)
        return ""
