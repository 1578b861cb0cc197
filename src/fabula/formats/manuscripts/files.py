"""Read and write manuscript files in every supported format (man-6).

The content decides the format: a renamed ZIP, a text with the wrong ending and a folder without any
ending are recognised. `read_manuscript` reads a file or a folder, or says what it is and what to do
instead. `write_manuscript` writes Markdown, EPUB or DOCX; the file is either complete or untouched.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from fabula.core.archives import open_zip
from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import missing_file
from fabula.core.messages import advise, join_alternatives, message
from fabula.formats.manuscripts.docx import is_docx, read_docx, write_docx
from fabula.formats.manuscripts.epub_reader import CONTAINER, read_epub
from fabula.formats.manuscripts.epub_writer import write_epub
from fabula.formats.manuscripts.markdown import (
    SUFFIXES,
    read_text_file,
    read_text_folder,
    write_markdown,
    write_plain_text,
)
from fabula.formats.manuscripts.model import MAX_SECTIONS, ImportedManuscript, TooManySectionsError
from fabula.formats.manuscripts.novelcrafter import is_novelcrafter_export, read_novelcrafter
from fabula.formats.manuscripts.rtf import convert_rtf
from fabula.formats.manuscripts.scrivener import find_binder, read_scrivener
from fabula.formats.safe.files import FileCollection, open_folder, read_beginning, read_file, write_file
from fabula.formats.safe.import_errors import FETCH_AGAIN, SAVE_AGAIN, refuse_too_large, refuse_unreadable
from fabula.manuscript.drafts import ManuscriptDraft

_MAX_BYTES = 64_000_000
_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
WRITERS = {  # by file name ending
    **dict.fromkeys(SUFFIXES, write_markdown),
    ".txt": write_plain_text,
    ".epub": write_epub,
    ".docx": write_docx,
}
_SAVE_AS_DOCX = message("Open it in Word or LibreOffice and save it as DOCX.")
_UNPACK = message("Unpack it, and import what is in it.")
_LOAD = advise(message("Use `fabula load`."), message("Load it as a save."))
_READABLE = message("Fabula reads Markdown, text, EPUB, DOCX, RTF, Scrivener and NovelCrafter.")
_PICTURE = rb"\xff\xd8\xff|\x89PNG|GIF8[79]a|BM.{4}\0{4}|II\*\0|MM\0\*|RIFF.{4}WEBP|.{4}ftyp(?:avif|heic|heix|mif1)"
_SOUND = rb"ID3[\x02-\x04]|\xff[\xf2\xf3\xfb]|fLaC|OggS|RIFF.{4}WAVE|.{4}ftypM4[AB]"
_FILM = rb".{4}ftyp|RIFF.{4}AVI |\x1aE\xdf\xa3"
_UNSUPPORTED_FILES = (
    (rb"%PDF", message("it is a PDF, which has no paragraphs"), message("Export the manuscript as DOCX or EPUB.")),
    (rb"\xd0\xcf\x11\xe0", message("it is an old Word document (.doc)"), _SAVE_AS_DOCX),
    (rb"Rar!|7z\xbc\xaf|\x1f\x8b", message("it is an archive of another kind than ZIP"), _UNPACK),
    (
        rb"(?s)" + _PICTURE,
        message("it is a picture"),
        message("{formats} Of pictures, only character cards (PNG) can be imported.", formats=_READABLE),
    ),
    (rb"(?s)" + _SOUND, message("it is a recording"), _READABLE),
    (rb"(?s)" + _FILM, message("it is a film"), _READABLE),
    (rb"SQLite format 3", message("it is a database"), SAVE_AGAIN),
    (rb"(?s).{60}BOOKMOBI", message("it is a Kindle book"), message("Convert it to EPUB, for example with Calibre.")),
    (rb"(?i)\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype )?html", message("it is a web page"), _SAVE_AS_DOCX),
)
_UNSUPPORTED_COLLECTIONS = (
    (("project.toml",), message("it is already a Fabula project"), message("Import it as a project of its own.")),
    (("manifest.json", "projects.jsonl"), message("it is a saved project"), _LOAD),
    (("content.xml", "mimetype"), message("it is an OpenDocument text (ODT)"), _SAVE_AS_DOCX),
)


def read_manuscript(path: Path, *, scenes: bool = False) -> ImportedManuscript:
    """Read a manuscript in any supported format; `scenes` cuts text files at their scene breaks."""
    if not path.exists():
        raise missing_file(path)
    if path.suffix.lower() == ".scrivx":
        path = path.parent
    try:
        manuscript = (
            _read_collection(open_folder(path), scenes=scenes) if path.is_dir() else _read_file(path, scenes=scenes)
        )
    except TooManySectionsError:
        problem = message("it has more than {max:,} chapters and scenes", max=MAX_SECTIONS)
        refuse_too_large(path.name, problem, message("Split it."))
    book = manuscript.book
    if not book.drafts and not manuscript.entries:
        refuse_unreadable(path.name, message("it has no text"), message("Name a file with a story in it."))
    title = book.title or path.resolve().name.removesuffix(path.suffix)
    if len(book.drafts) == 1 and not book.drafts[0].title.strip():
        book = replace(book, drafts=(replace(book.drafts[0], title=title),))  # else lists would show its id
    return replace(manuscript, book=replace(book, title=title, language=book.language or _find_language(book)))


def write_manuscript(book: ManuscriptDraft, path: Path, *, overwrite: bool = False) -> None:
    """Write a book in the format that the ending of the file name says."""
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        sentence = message(
            "A manuscript cannot be written to {name!r}. Nothing was written. Let its name end in {endings}.",
            name=path.name,
            endings=join_alternatives(list(WRITERS)),
        )
        raise FabulaError(Code.EXPORT_REFUSED, sentence)
    write_file(write(book), path, overwrite=overwrite)


def _read_file(path: Path, *, scenes: bool) -> ImportedManuscript:
    if read_beginning(path, 4) in (b"PK\3\4", b"PK\5\6"):
        with open_zip(path) as archive:
            return _read_collection(archive, scenes=scenes)
    data = read_file(path, _MAX_BYTES)
    for pattern, problem, remedy in _UNSUPPORTED_FILES:
        if re.match(pattern, data):
            refuse_unreadable(path.name, problem, remedy)
    if data.lstrip()[:5] == b"{\\rtf":
        return read_text_file(convert_rtf(data, path.name).encode(), path.name, scenes=scenes)
    if path.suffix.lower() in (".epub", ".docx", ".zip") and data:
        problem = message("its name ends in {ending}, but it is no such file", ending=path.suffix)
        refuse_unreadable(path.name, problem, FETCH_AGAIN)
    return read_text_file(data, path.name, scenes=scenes)


def _read_collection(files: FileCollection, *, scenes: bool) -> ImportedManuscript:
    names = files.names
    if CONTAINER in names:
        return read_epub(files)
    if is_docx(names):
        return read_docx(files)
    if find_binder(names):
        return read_scrivener(files)
    if is_novelcrafter_export(names):
        return read_novelcrafter(files)
    for members, problem, remedy in _UNSUPPORTED_COLLECTIONS:
        if all(member in names for member in members):
            refuse_unreadable(files.label, problem, remedy)
    if any(name.lower().endswith(SUFFIXES) for name in names):
        return read_text_folder(files, scenes=scenes)
    return refuse_unreadable(files.label, message("it has no manuscript in a known format"), _READABLE)


def _find_language(book: ManuscriptDraft) -> str:
    """Return the language of the first few thousand characters; empty if it is neither Chinese nor Japanese."""
    text = ""
    for draft in book.walk():
        text += draft.text[:1_000]
        if len(text) > 4_000:
            break
    return detect_language(text)


def detect_language(text: str) -> str:
    """Recognise Chinese and Japanese by their characters; empty for other languages."""
    if len(_HAN.findall(text)) * 4 < len(text) or not text:
        return ""
    return "ja" if len(_KANA.findall(text)) * 10 > len(text) else "zh"
