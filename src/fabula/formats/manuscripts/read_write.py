"""Manuscripts in and out: one door for every format.

What a file is, its content says: a ZIP that was renamed, a text with the wrong ending and a folder
without any are all recognised. `read_book` reads whatever it is given, or says what it is and what to
do instead; `write_book` writes the three formats that other programs read, whole or not at all.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from fabula.core.archives import open_zip
from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts import docx_reader as word
from fabula.formats.manuscripts.docx_writer import write_docx
from fabula.formats.manuscripts.epub_package import CONTAINER
from fabula.formats.manuscripts.epub_reader import read_epub
from fabula.formats.manuscripts.epub_writer import write_epub
from fabula.formats.manuscripts.imported import Imported, unreadable
from fabula.formats.manuscripts.markdown import SUFFIXES, read_text, read_texts, write_markdown
from fabula.formats.manuscripts.novelcrafter import looks_like_novelcrafter, read_novelcrafter
from fabula.formats.manuscripts.rtf import rtf_markdown
from fabula.formats.manuscripts.scrivener import project_of, read_scrivener
from fabula.formats.safe.atomic_write import save
from fabula.formats.safe.folder import Files, open_folder
from fabula.manuscript.drafts import Book

__all__ = ["READABLE", "WRITABLE", "Format", "Imported", "format_of", "read_book", "write_book"]

_MOST_BYTES = 64_000_000
_WIDE = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


class Format(StrEnum):
    """The formats of a manuscript."""

    MARKDOWN = "markdown"
    EPUB = "epub"
    DOCX = "docx"
    RTF = "rtf"
    SCRIVENER = "scrivener"
    NOVELCRAFTER = "novelcrafter"


READABLE = tuple(Format)
WRITABLE = (Format.MARKDOWN, Format.EPUB, Format.DOCX)

_WRITERS = {Format.MARKDOWN: write_markdown, Format.EPUB: write_epub, Format.DOCX: write_docx}
_ENDINGS = {".md": Format.MARKDOWN, ".markdown": Format.MARKDOWN, ".txt": Format.MARKDOWN}
_ENDINGS |= {".epub": Format.EPUB, ".docx": Format.DOCX}
_OTHERS = (
    (b"%PDF", "a PDF, which has pages but no paragraphs", "Export the manuscript as DOCX or EPUB instead."),
    (b"\xd0\xcf\x11\xe0", "an old Word document (.doc)", "Open it in Word or LibreOffice and save it as DOCX."),
    (b"Rar!", "a RAR archive", "Unpack it, and import the folder."),
    (b"7z\xbc\xaf", "a 7z archive", "Unpack it, and import the folder."),
    (b"\x1f\x8b", "a packed file (gzip)", "Unpack it, and import what is in it."),
    (b"SQLite format 3", "a database", "Export the manuscript from the program that made it."),
)
_PAGE = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html)", re.IGNORECASE)


def read_book(path: Path, *, scenes: bool = False) -> Imported:
    """A manuscript in any of the readable formats; `scenes` cuts text files at their scene breaks."""
    if not path.exists():
        unreadable(str(path), "there is nothing at that path", "Name a manuscript file or folder.")
    if path.suffix.lower() == ".scrivx":
        path = path.parent
    imported = _read_files(open_folder(path), scenes=scenes) if path.is_dir() else _read_file(path, scenes=scenes)
    book = imported.book
    if not any(True for _ in book.walk()) and not imported.entries:
        said = (f"{path.name} holds no text.", *imported.warnings)
        imported = Imported(book=book, warnings=said)
    title = book.title or path.resolve().name.removesuffix(path.suffix)
    return replace(imported, book=replace(book, title=title, language=book.language or _language(book)))


def write_book(book: Book, path: Path, as_format: Format | str | None = None, *, overwrite: bool = False) -> None:
    """Write a book; the format follows from the ending of the name unless it is given."""
    wanted = format_of(path) if as_format is None else as_format
    known = next((one for one in WRITABLE if one == wanted), None)
    if known is None:
        raise FabulaError(
            Code.EXPORT_REFUSED,
            f"We do not write {wanted or path.suffix or 'files without an ending'!r}. Nothing was written. "
            f"Use one of {', '.join(WRITABLE)}.",
        )
    save(_WRITERS[known](book), path, overwrite=overwrite)


def format_of(path: Path) -> Format | None:
    """The format that the ending of a name asks for."""
    return _ENDINGS.get(path.suffix.lower())


def _read_file(path: Path, *, scenes: bool) -> Imported:
    try:
        with path.open("rb") as stream:
            head = stream.read(1_000)
            packed = head.startswith((b"PK\3\4", b"PK\5\6"))
            data = b"" if packed else head + stream.read(_MOST_BYTES)
    except OSError as error:
        problem = f"it could not be read ({error.strerror})"
        unreadable(path.name, problem, "Check that the file is there and may be read.")
    if packed:
        with open_zip(path) as archive:
            return _read_files(archive, scenes=scenes)
    if len(data) > _MOST_BYTES:
        raise FabulaError(
            Code.IMPORT_TOO_LARGE,
            f"{path.name}: it is larger than {_MOST_BYTES // 1_000_000} MB. Nothing was imported. "
            "Split it, or leave pictures out.",
        )
    for mark, kind, remedy in _OTHERS:
        if data.startswith(mark):
            unreadable(path.name, f"it is {kind}", remedy)
    if head[60:68] == b"BOOKMOBI":
        unreadable(path.name, "it is a Kindle book", "Convert it to EPUB, for example with Calibre.")
    if _PAGE.match(data):
        unreadable(path.name, "it is a web page", "Save its text as Markdown or DOCX.")
    if data.lstrip()[:5] == b"{\\rtf":
        return read_text(rtf_markdown(data, path.name).encode(), path.name, scenes=scenes)
    if path.suffix.lower() in (".epub", ".docx", ".zip") and data:
        unreadable(path.name, f"its name ends in {path.suffix}, but it is no such file", "Fetch or save it again.")
    return read_text(data, path.name, scenes=scenes)


def _read_files(files: Files, *, scenes: bool) -> Imported:
    names = files.names
    if CONTAINER in names:
        return read_epub(files)
    if word.DOCUMENT in names or ("[Content_Types].xml" in names and any(n.startswith("word/") for n in names)):
        return word.read_docx(files)
    if project_of(files):
        return read_scrivener(files)
    if looks_like_novelcrafter(names):
        return read_novelcrafter(files)
    if "project.toml" in names:
        unreadable(files.label, "it is a Fabula project already", "Open it instead of importing it.")
    if "manifest.json" in names and "projects.jsonl" in names:
        unreadable(files.label, "it is a saved project", "Use `fabula load`.")
    if "content.xml" in names and "mimetype" in names:
        unreadable(files.label, "it is an OpenDocument text (ODT)", "Open it in LibreOffice and save it as DOCX.")
    if any(name.lower().endswith(SUFFIXES) for name in names):
        return read_texts(files, scenes=scenes)
    remedy = "We read Markdown, text, EPUB, DOCX, RTF, Scrivener and NovelCrafter."
    return unreadable(files.label, "there is no manuscript in it that we know", remedy)


def _language(book: Book) -> str:
    """Chinese and Japanese show themselves; of other languages we say nothing."""
    text = ""
    for draft in book.walk():
        text += draft.text[:1_000]
        if len(text) > 4_000:
            break
    if len(_WIDE.findall(text)) * 4 < len(text) or not text:
        return ""
    return "ja" if len(_KANA.findall(text)) * 10 > len(text) else "zh"
