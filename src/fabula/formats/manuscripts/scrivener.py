"""Read Scrivener projects: the binder is the tree, each document an RTF file beside it.

Scrivener 3 stores a document in `Files/Data/<UUID>/content.rtf`, Scrivener 2 in `Files/Docs/<ID>.rtf`,
each with a synopsis and notes. The draft folder is the manuscript. Everything else (research,
characters, places) becomes notes, as do documents that are not compiled. The trash is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from msgspec.structs import replace

from fabula.core.messages import Sentence, message, plural
from fabula.formats.manuscripts.heading_tree import build_tree
from fabula.formats.manuscripts.model import ImportedManuscript, Section
from fabula.formats.manuscripts.plain_text import tidy_paragraphs
from fabula.formats.manuscripts.rtf import convert_rtf
from fabula.formats.manuscripts.words import load_words
from fabula.formats.safe.encodings import decode_text
from fabula.formats.safe.files import FileCollection
from fabula.formats.safe.import_errors import refuse_unreadable
from fabula.formats.safe.xml_reader import find_children, find_path, parse_xml, read_text
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft

_SKIPPED_TYPES = load_words("scrivener", "skipped_types")
_TEXT_TYPES = load_words("scrivener", "text_types")


def find_binder(names: Iterable[str]) -> str:
    """The binder file of a project, at most one folder down; empty if there is none."""
    binders = [name for name in names if name.lower().endswith(".scrivx") and name.count("/") <= 1]
    return min(binders, key=lambda name: (name.count("/"), name), default="")


def read_scrivener(files: FileCollection) -> ImportedManuscript:
    """Read a Scrivener 2 or 3 project."""
    name = find_binder(files.names)
    if not name:
        remedy = message("Name the .scriv folder, or a ZIP of it.")
        refuse_unreadable(files.label, message("it has no Scrivener binder"), remedy)
    root = parse_xml(files.read(name), name)
    folder, _, file_name = name.rpartition("/")
    reader = _DocumentReader(files, f"{folder}/" if folder else "")
    drafts: list[DocumentDraft] = []
    notes: list[DocumentDraft] = []
    for item in find_children(find_path(root, "Binder"), "BinderItem"):
        if item.get("Type") == "DraftFolder":
            drafts.extend(build_tree(reader.read_below(item), leaves_are_scenes=True))
        elif item.get("Type") not in _SKIPPED_TYPES:
            sections = [Section(level=1, title=_read_title(item)), *reader.read_below(item, level=2)]
            notes.extend(_drop_empty(build_tree([replace(section, kind=DocumentKind.NOTE) for section in sections])))
    author = read_text(find_path(root, "ProjectProperties", "FullName")) or root.get("Author", "").strip()
    title = read_text(find_path(root, "ProjectProperties", "ProjectTitle"))
    book = ManuscriptDraft(
        title=title or file_name.rsplit(".", 1)[0],
        authors=(author,) if author else (),
        drafts=(*drafts, *notes),
    )
    return ImportedManuscript(book=book, warnings=reader.list_warnings())


def _drop_empty(drafts: tuple[DocumentDraft, ...]) -> list[DocumentDraft]:
    """Drop notes without text and without anything below them."""
    filled = []
    for draft in drafts:
        children = _drop_empty(draft.children)
        if children or draft.text or draft.synopsis or draft.notes:
            filled.append(replace(draft, children=tuple(children)))
    return filled


def _read_title(item: Element) -> str:
    return read_text(find_path(item, "Title"))


class _DocumentReader:
    """Reads the documents of a project and counts what it leaves out."""

    def __init__(self, files: FileCollection, base: str) -> None:
        self._files = files
        self._names = {name.lower(): name for name in files.names}
        self._base = base
        self._skipped = 0
        self._not_compiled = 0

    def read_below(self, folder: Element, level: int = 1) -> list[Section]:
        """Read everything below a folder of the binder, in order."""
        sections: list[Section] = []
        for item in find_children(find_path(folder, "Children"), "BinderItem"):
            kind = item.get("Type", "")
            if kind in _SKIPPED_TYPES:
                continue
            below = self.read_below(item, level + 1)
            if kind not in _TEXT_TYPES and not below:
                self._skipped += 1
                continue
            sections.append(self._read_section(item, level, is_leaf=not below))
            sections.extend(below)
        return sections

    def list_warnings(self) -> tuple[Sentence, ...]:
        """What was left out or moved."""
        warnings = []
        if self._skipped:
            warning = plural(
                self._skipped,
                "One item that is not text (a picture, a PDF or a web page) was left out.",
                "{count} items that are not text (pictures, PDFs, web pages) were left out.",
            )
            warnings.append(warning)
        if self._not_compiled:
            warning = plural(
                self._not_compiled,
                "One document that Scrivener does not compile was imported as a note.",
                "{count} documents that Scrivener does not compile were imported as notes.",
            )
            warnings.append(warning)
        return tuple(warnings)

    def _read_section(self, item: Element, level: int, *, is_leaf: bool) -> Section:
        ident = item.get("UUID") or item.get("ID") or ""
        is_note = is_leaf and read_text(find_path(item, "MetaData", "IncludeInCompile")) == "No"
        self._not_compiled += is_note
        return Section(
            level=level,
            title=_read_title(item),
            text=self._read_document(f"data/{ident}/content.rtf", f"docs/{ident}.rtf")
            or self._read_document(f"data/{ident}/content.txt", f"docs/{ident}.txt"),
            synopsis=self._read_document(f"data/{ident}/synopsis.txt", f"docs/{ident}_synopsis.txt"),
            notes=self._read_document(f"data/{ident}/notes.rtf", f"docs/{ident}_notes.rtf"),
            kind=DocumentKind.NOTE if is_note else None,
        )

    def _read_document(self, *names: str) -> str:
        """The text of the first of these files that exists."""
        paths = (self._names.get(f"{self._base}files/{name}".lower()) for name in names)
        path = next((path for path in paths if path is not None), None)
        data = self._files.read(path) if path is not None else b""
        if path is None or not data.strip():
            return ""
        return tidy_paragraphs(decode_text(data, path)[0]) if path.lower().endswith(".txt") else convert_rtf(data, path)
