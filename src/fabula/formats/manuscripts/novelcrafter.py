"""Read NovelCrafter exports: the novel and the codex.

An export is a ZIP or a folder: `novel.md` (or `novel.docx`), and one folder for each codex entry
below `characters/`, `locations/`, `objects/`, `lore/`, `subplots/` or `other/`, with its text in
`entry.md`, its settings in the front matter of that file or in `metadata.json`, and private research
in `notes.md`. The format is not documented, so everything is optional, and an unknown field becomes
a detail of the entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from fabula.codex import Entry, Level, Relation
from fabula.core.archives import open_zip
from fabula.core.messages import Sentence, message
from fabula.formats.manuscripts.docx import read_docx
from fabula.formats.manuscripts.front_matter import as_text, as_texts, flatten, split_front_matter
from fabula.formats.manuscripts.heading_tree import build_tree
from fabula.formats.manuscripts.markdown import parse_text, split_at_scene_breaks
from fabula.formats.manuscripts.model import ImportedManuscript, Section
from fabula.formats.manuscripts.plain_text import tidy_paragraphs
from fabula.formats.manuscripts.prose import is_scene_break
from fabula.formats.manuscripts.words import load_words
from fabula.formats.safe.encodings import decode_text
from fabula.formats.safe.files import FileCollection
from fabula.formats.safe.import_errors import FETCH_AGAIN, refuse_unreadable
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft

_TYPES_OF_FOLDERS = {
    "characters": "character",
    "locations": "location",
    "objects": "item",
    "lore": "lore",
    "subplots": "subplot",
    "other": "other",
}
_ENTRY_FILE = re.compile(rf"(?:[^/]+/)?({'|'.join(_TYPES_OF_FOLDERS)})/([^/]+)/(entry\.md|metadata\.json|notes\.md)")
_NOVEL_FILE = re.compile(r"(?:[^/]+/)?novel\.(?:md|docx)")
_EXTRA_FILE = re.compile(r"(?:[^/]+/)?(snippets|chats)/([^/]+)\.md")
_ID_SUFFIX = re.compile(r"-[0-9A-Za-z]{20,30}$")
_BY = re.compile(r"by[ ]+(.{1,80})", re.IGNORECASE)
_SUMMARY_END = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
_MAX_SUMMARY = 3_000  # characters; a longer text before a `---` is a scene with a line in it
_SCENE_LEVEL = 9
_KNOWN_SETTINGS = load_words("novelcrafter", "known_settings")
_LEVELS = (  # in the order in which flags count
    (Level.NEVER, load_words("novelcrafter", "never")),
    (Level.ALWAYS, load_words("novelcrafter", "always")),
    (Level.MANUAL, load_words("novelcrafter", "manual")),
    (Level.WHEN_DETECTED, load_words("novelcrafter", "when_detected")),
)


def is_novelcrafter_export(names: Iterable[str]) -> bool:
    """Do these files look like an export? A codex is enough, with or without a novel."""
    return any(_ENTRY_FILE.fullmatch(name) for name in names)


def read_novelcrafter(files: FileCollection) -> ImportedManuscript:
    """Read an export, complete or only its codex."""
    entry_files: dict[tuple[str, str], dict[str, str]] = {}
    for name in sorted(files.names):
        if match := _ENTRY_FILE.fullmatch(name):
            entry_files.setdefault((match[1], match[2]), {})[match[3]] = name
    novel = next((name for name in sorted(files.names, reverse=True) if _NOVEL_FILE.fullmatch(name)), "")
    if not entry_files and not novel:
        refuse_unreadable(files.label, message("it has neither a novel nor a codex"), FETCH_AGAIN)
    book, warnings = _read_novel(files, novel)
    drafts = (*book.drafts, *_read_snippets(files))
    entries, entry_warnings = _read_entries(files, entry_files)
    if any((match := _EXTRA_FILE.fullmatch(name)) and match[1] == "chats" for name in files.names):
        warnings = (*warnings, message("Chats were left out."))
    return ImportedManuscript(book=replace(book, drafts=drafts), entries=entries, warnings=(*warnings, *entry_warnings))


def _read_novel(files: FileCollection, name: str) -> tuple[ManuscriptDraft, tuple[Sentence, ...]]:
    if not name:
        return ManuscriptDraft(), (message("This export has a codex but no novel."),)
    if name.endswith(".docx"):
        with open_zip(files.read(name), label=name) as archive:
            manuscript = read_docx(archive)
        return manuscript.book, manuscript.warnings
    text, warnings = decode_text(files.read(name), name)
    parsed = parse_text(text)
    authors, sections = parsed.authors, list(parsed.sections)
    if sections and sections[0].level == 0:
        author = _BY.fullmatch(sections[0].text.strip())
        if author:
            authors, sections = (author[1].strip(),), sections[1:]
        else:
            sections[0] = replace(sections[0], level=2)
    has_chapters = any(section.level == 3 for section in sections)
    kinds = {2: DocumentKind.PART, 3: DocumentKind.CHAPTER, 4: DocumentKind.SCENE} if has_chapters else {}
    parts = [part for section in sections for part in _split_chapter(section, kinds.get(section.level))]
    return ManuscriptDraft(title=parsed.title, authors=authors, drafts=build_tree(parts)), warnings


def _split_chapter(section: Section, kind: DocumentKind | None) -> list[Section]:
    """Cut a chapter of `novel.md` into scenes at `* * *`, each with its summary before a `---`."""
    texts = split_at_scene_breaks(section.text, lambda line: "*" in line and is_scene_break(line))
    scenes = [_split_summary(tidy_paragraphs(text)) for text in texts]
    if len(scenes) > 1:
        return [replace(section, text="", kind=kind), *scenes]
    text, synopsis = (scenes[0].text, scenes[0].synopsis) if scenes else ("", "")
    return [replace(section, text=text, synopsis=synopsis, kind=kind)]


def _split_summary(text: str) -> Section:
    """A scene, its summary taken off."""
    summary = ""
    if mark := _SUMMARY_END.search(text):
        before, after = tidy_paragraphs(text[: mark.start()]), tidy_paragraphs(text[mark.end() :])
        if before and len(before) < _MAX_SUMMARY:
            summary, text = before, after
    return Section(level=_SCENE_LEVEL, title="", text=text, kind=DocumentKind.SCENE, synopsis=summary)


def _read_snippets(files: FileCollection) -> tuple[DocumentDraft, ...]:
    """The snippets as notes below one note."""
    notes: list[DocumentDraft] = []
    for name in sorted(files.names):
        match = _EXTRA_FILE.fullmatch(name)
        if match is not None and match[1] == "snippets":
            settings, body = split_front_matter(decode_text(files.read(name), name)[0])
            title = as_text(settings.get("title")) or match[2]
            notes.append(DocumentDraft(title=title, kind=DocumentKind.NOTE, text=tidy_paragraphs(body)))
    return (DocumentDraft(title="Snippets", kind=DocumentKind.NOTE, children=tuple(notes)),) if notes else ()


def _read_entries(
    files: FileCollection, entry_files: Mapping[tuple[str, str], Mapping[str, str]]
) -> tuple[tuple[Entry, ...], tuple[Sentence, ...]]:
    """The codex entries, with warnings about metadata that could not be read."""
    entries: dict[str, Entry] = {}
    nested: dict[str, tuple[str, ...]] = {}
    warnings: list[Sentence] = []
    for (folder, name), parts in entry_files.items():
        metadata = _read_metadata(files, parts.get("metadata.json"), warnings)
        text, notes = (
            decode_text(files.read(parts[part]), name)[0] if part in parts else "" for part in ("entry.md", "notes.md")
        )
        front_matter, body = split_front_matter(text)
        settings: dict[str, object] = {**_as_mapping(metadata.get("attributes")), **front_matter}
        ident = as_text(metadata.get("id")) or as_text(settings.get("id")) or name
        while ident in entries:
            ident += "-2"
        kind = as_text(settings.get("type")).lower()
        details = {
            **_as_mapping(settings.get("fields")),
            **_as_mapping(metadata.get("fields")),
            **{key: value for key, value in settings.items() if key not in _KNOWN_SETTINGS},
        }
        entries[ident] = Entry(
            id=ident,
            type="item" if kind == "object" else kind or _TYPES_OF_FOLDERS[folder],
            name=as_text(settings.get("name")) or as_text(settings.get("title")) or _ID_SUFFIX.sub("", name),
            aliases=as_texts(settings.get("aliases") or settings.get("alias")),
            level=_find_level(settings),
            description=tidy_paragraphs(body) or as_text(settings.get("description")),
            details={key: text for key, value in details.items() if (text := flatten(value))},
            tags=as_texts(settings.get("tags")),
            notes=notes.strip() or as_text(settings.get("notes")),
        )
        nested[ident] = as_texts(_as_mapping(metadata.get("relationships")).get("nestedEntries"))
    linked = [
        replace(entry, relations=tuple(Relation(to, "") for to in nested[ident] if to in entries and to != ident))
        for ident, entry in entries.items()
    ]
    return tuple(linked), tuple(warnings)


def _read_metadata(files: FileCollection, name: str | None, warnings: list[Sentence]) -> Mapping[str, object]:
    try:
        return _as_mapping(msgspec.json.decode(files.read(name))) if name is not None else {}
    except (msgspec.MsgspecError, RecursionError):
        warnings.append(message("{name} could not be read; its settings were left out.", name=name))
        return {}


def _find_level(settings: Mapping[str, object]) -> Level:
    """When an entry is sent, from `aiContext` or from the flags of older exports."""
    context = settings.get("aiContext")
    flags = {key for key, value in {**settings, **_as_mapping(context)}.items() if _is_true(value)}
    flags = {key.lower() for key in flags & _KNOWN_SETTINGS}
    words = [{re.sub(r"[^a-z]", "", context.lower())} if isinstance(context, str) else set(), flags]
    levels = (level for names in words for level, level_names in _LEVELS if names & level_names)
    return next(levels, Level.WHEN_DETECTED)


def _is_true(value: object) -> bool:
    return str(value).lower() in ("true", "yes", "1")


def _as_mapping(value: object) -> dict[str, object]:
    return {str(key): inner for key, inner in value.items()} if isinstance(value, dict) else {}
