"""NovelCrafter exports in: the manuscript and the codex.

An export is a ZIP or a folder: `novel.md` (or `novel.docx`), and one folder for each codex entry
below `characters/`, `locations/`, `objects/`, `lore/`, `subplots/` or `other/`, with its text in
`entry.md`, its settings in the head of that file or in `metadata.json`, and private research in
`notes.md`. Nothing about the format is promised, so everything is optional, and a field we do not
know becomes a detail of the entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from fabula.codex.model import Entry, Level, Relation
from fabula.core.archives import open_zip
from fabula.formats.manuscripts.docx_reader import read_docx
from fabula.formats.manuscripts.front_matter import split_head
from fabula.formats.manuscripts.heading_tree import Section, grow
from fabula.formats.manuscripts.imported import Imported, unreadable
from fabula.formats.manuscripts.markdown import read_page
from fabula.formats.manuscripts.plain_text import tidy
from fabula.formats.manuscripts.prose import BREAK
from fabula.formats.safe.encodings import decode
from fabula.formats.safe.folder import Files
from fabula.manuscript.drafts import Book, Draft, Kind

_TYPES = {
    "characters": "character",
    "locations": "location",
    "objects": "item",
    "lore": "lore",
    "subplots": "subplot",
    "other": "other",
}
_SINGULAR = {"object": "item"}
_ENTRY = re.compile(rf"(?:[^/]+/)?({'|'.join(_TYPES)})/([^/]+)/(entry\.md|metadata\.json|notes\.md)")
_NOVEL = re.compile(r"(?:[^/]+/)?novel\.(?:md|docx)")
_EXTRA = re.compile(r"(?:[^/]+/)?(snippets|chats)/([^/]+)\.md")
_ID = re.compile(r"-[0-9A-Za-z]{20,30}$")
_BY = re.compile(r"by[ ]+(.{1,80})", re.IGNORECASE)
_SUMMARY_END = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
_HOUSEKEEPING = frozenset(
    [
        *("id", "type", "name", "title", "aliases", "alias", "tags", "color", "colour", "description", "fields"),
        *("alwaysIncludeInContext", "alwaysInclude", "doNotTrack", "noAutoInclude", "hideFromAi", "aiContext"),
        *("matchExclusions", "matchCaseSensitive", "promptInclusions", "thumbnail", "createdAt", "updatedAt", "notes"),
    ]
)
_LEVELS = {
    "always": Level.ALWAYS,
    "detected": Level.WHEN_DETECTED,
    "mentioned": Level.WHEN_DETECTED,
    "manual": Level.MANUAL,
    "dontautoinclude": Level.MANUAL,
    "noautoinclude": Level.MANUAL,
    "never": Level.NEVER,
    "exclude": Level.NEVER,
}


def looks_like_novelcrafter(names: Iterable[str]) -> bool:
    """Do these files look like an export? A codex will do, with or without a novel."""
    return any(_ENTRY.fullmatch(name) for name in names)


def read_novelcrafter(files: Files) -> Imported:
    """A NovelCrafter export, whole or only its codex."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name in sorted(files.names):
        if match := _ENTRY.fullmatch(name):
            found.setdefault((match[1], match[2]), {})[match[3]] = name
    novel = next((name for name in sorted(files.names, reverse=True) if _NOVEL.fullmatch(name)), "")
    if not found and not novel:
        unreadable(files.label, "there is neither a novel nor a codex in it", "Export the novel again.")
    book, warnings = _novel(files, novel)
    drafts = (*book.drafts, *_snippets(files))
    entries, told = _entries(files, found)
    if any(_EXTRA.fullmatch(name) and "chats/" in name for name in files.names):
        warnings.append("Chats were left out.")
    return Imported(book=replace(book, drafts=drafts), entries=entries, warnings=(*warnings, *told))


def _novel(files: Files, name: str) -> tuple[Book, list[str]]:
    if not name:
        return Book(), ["There is no novel in this export, only a codex."]
    if name.endswith(".docx"):
        with open_zip(files.read(name), label=name) as archive:
            inside = read_docx(archive)
        return inside.book, list(inside.warnings)
    text, warnings = decode(files.read(name), name)
    page = read_page(text)
    authors, sections = page.authors, list(page.sections)
    if sections and sections[0].level == 0:
        said = _BY.fullmatch(sections[0].text.strip())
        authors = (said[1].strip(),) if said else authors
        sections = sections[1:] if said or not sections[0].text else [replace(sections[0], level=2), *sections[1:]]
    kinds = {2: Kind.PART, 3: Kind.CHAPTER, 4: Kind.SCENE} if any(s.level == 3 for s in sections) else {}
    pieces = [piece for section in sections for piece in _scenes(section, kinds.get(section.level))]
    return Book(title=page.title, authors=authors, drafts=grow(pieces)), list(warnings)


def _scenes(section: Section, kind: Kind | None) -> list[Section]:
    """A chapter of `novel.md`: scenes between `* * *`, each with its summary before a `---`, if it has one."""
    pieces: list[list[str]] = [[]]
    for line in section.text.split("\n"):
        if "*" in line and BREAK.fullmatch(line):
            pieces.append([])
        else:
            pieces[-1].append(line)
    texts = [text for piece in pieces if (text := tidy("\n".join(piece)))]
    scenes = [_told(Section(level=9, title="", text=text, kind=Kind.SCENE)) for text in texts]
    if len(scenes) > 1:
        return [replace(section, text="", kind=kind), *scenes]
    only = scenes[0] if scenes else Section(level=9, title="")
    return [replace(section, text=only.text, synopsis=only.synopsis, kind=kind)]


def _told(scene: Section) -> Section:
    mark = _SUMMARY_END.search(scene.text)
    if mark is None:
        return scene
    summary, text = tidy(scene.text[: mark.start()]), tidy(scene.text[mark.end() :])
    # A summary is a paragraph or two; a longer text before a line is a scene with a line in it.
    return replace(scene, synopsis=summary, text=text) if summary and len(summary) < 3_000 else scene


def _snippets(files: Files) -> tuple[Draft, ...]:
    notes: list[Draft] = []
    for name in sorted(files.names):
        match = _EXTRA.fullmatch(name)
        if match is None or match[1] != "snippets":
            continue
        head, body = split_head(decode(files.read(name), name)[0])
        title = head.get("title")
        notes.append(
            Draft(title=title if isinstance(title, str) and title else match[2], kind=Kind.NOTE, text=tidy(body))
        )
    return (Draft(title="Snippets", kind=Kind.NOTE, children=tuple(notes)),) if notes else ()


def _entries(
    files: Files, found: Mapping[tuple[str, str], Mapping[str, str]]
) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    entries: dict[str, Entry] = {}
    nested: dict[str, list[str]] = {}
    warnings: list[str] = []
    for (folder, name), parts in found.items():
        try:
            metadata = _metadata(files, parts.get("metadata.json"))
        except msgspec.MsgspecError:
            metadata = {}
            warnings.append(f"{parts['metadata.json']} could not be read; its settings were left out.")
        head, body = split_head(decode(files.read(parts["entry.md"]), name)[0]) if "entry.md" in parts else ({}, "")
        settings: dict[str, object] = {**_mapping(metadata.get("attributes")), **head}
        ident = _text(metadata.get("id")) or _text(settings.get("id")) or name
        while ident in entries:
            ident += "-2"
        notes = decode(files.read(parts["notes.md"]), name)[0].strip() if "notes.md" in parts else ""
        entries[ident] = _entry(ident, folder, name, settings, _mapping(metadata.get("fields")), tidy(body), notes)
        nested[ident] = list(_texts(_mapping(metadata.get("relationships")).get("nestedEntries")))
    linked = [
        replace(entry, relations=tuple(Relation(to, "") for to in nested[ident] if to in entries and to != ident))
        for ident, entry in entries.items()
    ]
    return tuple(linked), tuple(warnings)


def _entry(
    ident: str,
    folder: str,
    name: str,
    settings: Mapping[str, object],
    fields: Mapping[str, object],
    body: str,
    notes: str,
) -> Entry:
    kind = _text(settings.get("type")).lower()
    extra = {key: value for key, value in settings.items() if key not in _HOUSEKEEPING}
    details = {**_mapping(settings.get("fields")), **fields, **extra}
    return Entry(
        id=ident,
        type=_SINGULAR.get(kind, kind) or _TYPES[folder],
        name=_text(settings.get("name")) or _text(settings.get("title")) or _ID.sub("", name),
        aliases=_texts(settings.get("aliases") or settings.get("alias")),
        level=_level(settings),
        description=body or _text(settings.get("description")),
        details={key: said for key, value in details.items() if (said := _said(value))},
        tags=_texts(settings.get("tags")),
        notes=notes or _text(settings.get("notes")),
    )


def _level(settings: Mapping[str, object]) -> Level:
    context = settings.get("aiContext")
    if isinstance(context, str) and (known := _LEVELS.get(re.sub(r"[^a-z]", "", context.lower()))):
        return known
    flags = {**settings, **_mapping(context)}

    def is_set(*names: str) -> bool:
        return any(str(flags.get(name)).lower() in ("true", "yes", "1") for name in names)

    if is_set("hideFromAi", "doNotTrack"):
        return Level.NEVER
    if is_set("alwaysIncludeInContext", "alwaysInclude"):
        return Level.ALWAYS
    return Level.MANUAL if is_set("noAutoInclude") else Level.WHEN_DETECTED


def _metadata(files: Files, name: str | None) -> Mapping[str, object]:
    if name is None:
        return {}
    try:
        return _mapping(msgspec.json.decode(files.read(name)))
    except RecursionError:
        raise msgspec.DecodeError("nested too deeply") from None


def _mapping(value: object) -> dict[str, object]:
    return {str(key): inner for key, inner in value.items()} if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    return tuple(_text(item) for item in value if _text(item)) if isinstance(value, list) else ()


def _said(value: object) -> str:
    """A detail as words."""
    match value:
        case str():
            return value.strip()
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return str(value)
        case list():
            return ", ".join(said for item in value if (said := _said(item)))
        case dict():
            return "; ".join(f"{key}: {said}" for key, item in value.items() if (said := _said(item)))
        case _:
            return ""
