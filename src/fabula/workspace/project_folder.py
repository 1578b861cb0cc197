"""Read a project from a folder of TOML and Markdown files, or from one text file; nothing is written there.

    project.toml   id, title, language, rules, and the chapters in reading order
    chapters/…     Markdown or plain text
    codex.toml  constraints.toml  memory.toml  preset.toml  conversation.jsonl   (each optional)

A single `.md` or `.txt` file is a project too: its headings become chapters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from os.path import exists
from pathlib import Path

import msgspec

from fabula.codex import Codex, Entry, Level, Progression, Relation
from fabula.codex.entry_types import find_type
from fabula.codex.facts import Facts
from fabula.constraints import Constraint, ConstraintKind, ConstraintOrigin, Constraints, TextCheck
from fabula.context.recipes.preset import InjectionStrategy, Node, Preset
from fabula.conversation.model import Conversations, Message
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import READER, Position
from fabula.core.view import Language, Project, View
from fabula.formats.safe.toml_reader import CheckedTable, check_inside, read_text_file, read_toml, refuse_project
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.memory.model import Memory, MemoryNote, Preference
from fabula.search.corpus import Corpus
from fabula.text.names.matcher import NameRules
from fabula.text.offsets import normalise
from fabula.workspace.facts import make_facts
from fabula.workspace.names import NamedThing, match_named
from fabula.workspace.search_corpus import make_conversation_texts, make_corpus

PositionParser = Callable[[CheckedTable, str], Position | None]
CONVERSATION_ID = "desk"  # of the messages in conversation.jsonl
_HEADING = re.compile(r"^#{1,2}[ \t]+(.{1,200}?)[ \t#]*$", re.MULTILINE)
_TEXT_ENDINGS = frozenset({".md", ".markdown", ".txt"})
_NO_CHAPTERS = frozenset({"readme", "license", "changelog", "notes"})  # files at the top of many folders
_HAN = re.compile(r"[\u3400-\u9fff]")


def read_project(path: Path) -> View:
    """Read the view of a project folder or of a single text file."""
    if not exists(path):
        raise FabulaError(
            Code.PROJECT_NOT_FOUND,
            message("There is nothing at {path}. Name a project folder or a text file.", path=path),
        )
    return _read_folder(path) if path.is_dir() else _read_file(path)


def _read_file(path: Path) -> View:
    text = read_text_file(path)
    language: Language = "zh" if len(_HAN.findall(text[:4000])) > 200 else "en"
    headings = list(_HEADING.finditer(text))
    starts = [heading.start() for heading in headings] + [len(text)]
    documents = []
    if text[: starts[0]].strip() or not headings:
        documents.append(Document("ch-00", path.stem, text[: starts[0]].strip("\n")))
    for number, (heading, end) in enumerate(zip(headings, starts[1:], strict=True), start=1):
        documents.append(Document(f"ch-{number:02}", heading[1], text[heading.end() : end].strip("\n")))
    return _make_view(Project(id=path.stem, title=path.stem, language=language), Manuscript(tuple(documents)), {})


def _is_missing(path: Path) -> bool:
    """Is there no such file? A file that may not be read is not missing: reading it says why."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def _read_folder(root: Path) -> View:
    if _is_missing(root / "project.toml"):
        raise FabulaError(
            Code.PROJECT_INVALID,
            message(
                "There is no project.toml in the folder {folder}, so it is no project. Name a folder that has one, or "
                "a single text file. Nothing was changed.",
                folder=root.name or root,
            ),
        )
    settings = read_toml(root / "project.toml", root)
    written = settings.get_text("language", "en")
    if written not in ("en", "zh"):
        refuse_project(settings.location, message("`language` must be en or zh"))
    language: Language = "zh" if written == "zh" else "en"
    project = Project(
        id=settings.get_text("id") if "id" in settings else root.resolve().name,
        title=settings.get_text("title", root.resolve().name),
        language=language,
        identity=settings.get_text("identity", "") if "identity" in settings else None,
    )
    codex_table = _read_optional(root, "codex.toml")
    people = _People(codex_table)
    manuscript = Manuscript(tuple(_read_chapters(root, settings, people)))
    direction = Direction(
        kind=settings.get_text("type", ""),
        person=settings.get_text("person", ""),
        world=settings.get_texts("world"),
        rules=settings.get_texts("rules"),
        style=settings.get_text("style", ""),
    )
    snapshots: dict[type, object] = {Direction: direction}
    parse_position = partial(_parse_position, manuscript.by_id)
    if codex_table is not None:
        entries = _read_entries(codex_table, parse_position, people)
        snapshots[Codex] = Codex(project.id, language, entries, manuscript.timeline())
    if (table := _read_optional(root, "constraints.toml")) is not None:
        snapshots[Constraints] = Constraints(project.id, _read_constraints(table, parse_position))
    if (table := _read_optional(root, "memory.toml")) is not None:
        snapshots[Memory] = _read_memory(project, table, parse_position)
    if (table := _read_optional(root, "preset.toml")) is not None:
        snapshots[Preset] = _read_preset(table)
    if (root / "conversation.jsonl").exists():
        messages = _read_messages(root / "conversation.jsonl", root)
        snapshots[Conversations] = Conversations(project.id, {CONVERSATION_ID: messages})
    return _make_view(project, manuscript, snapshots)


def _read_optional(root: Path, name: str) -> CheckedTable | None:
    return read_toml(root / name, root) if (root / name).exists() else None


def _make_view(project: Project, manuscript: Manuscript, snapshots: dict[type, object]) -> View:
    conversations = snapshots.get(Conversations)
    threads = make_conversation_texts(conversations if isinstance(conversations, Conversations) else None)
    corpus = make_corpus(project.id, manuscript, threads)
    view = View(project, manuscript.timeline(), {Manuscript: manuscript, Corpus: corpus, **snapshots})
    return View(project, view.timeline, {**view.snapshots, Facts: make_facts(view)})


class _People:
    """Resolves the names of people in a folder's files to the ids of their entries."""

    def __init__(self, codex: CheckedTable | None) -> None:
        rows = [] if codex is None else codex.get_tables_by_id("entry")
        self._known = [NamedThing(ident, (row.get_text("name"), *row.get_texts("aliases"))) for ident, row in rows]

    def find(self, name: str) -> str:
        """Return the id of whom a name means; the name itself where no entry has it, or several do."""
        found = match_named(self._known, name) if name != READER else []
        return found[0].id if len(found) == 1 else name

    def read_known_to(self, row: CheckedTable) -> frozenset[str] | None:
        """Read who knows something: None for everybody."""
        return frozenset(self.find(one) for one in row.get_texts("known_to")) if "known_to" in row else None


def _read_chapters(root: Path, settings: CheckedTable, people: _People) -> list[Document]:
    documents = []
    for ident, row in settings.get_tables_by_id("chapters"):
        text = read_text_file(check_inside(root / row.get_text("file"), root, row.location))
        heading = _HEADING.match(text)
        documents.append(
            Document(
                id=ident,
                title=row.get_text("title", heading[1] if heading else ident),
                text=(text[heading.end() :] if heading else text).strip("\n"),
                pov=people.find(row.get_text("pov")) if row.get_text("pov", "") else None,
                story_time=row.get_number("when", 0, low=-1e9, high=1e9) if "when" in row else None,
                synopsis=row.get_text("synopsis", "").strip(),
                beats=row.get_texts("beats"),
                known_to=people.read_known_to(row),
            )
        )
    return documents


def find_unlisted_chapters(root: Path) -> tuple[str, ...]:
    """Return the text files in `chapters`, or beside a chapter, that the project file does not list as chapters."""
    settings, top = read_toml(root / "project.toml", root), root.resolve()
    listed = {(root / row.get_text("file")).resolve() for _, row in settings.get_tables_by_id("chapters")}
    folders = {one.parent for one in listed} | {top / "chapters"}
    texts = (one for folder in folders if folder.is_dir() for one in folder.iterdir())
    found = {
        one.relative_to(top).as_posix()
        for one in texts
        if one.suffix.lower() in _TEXT_ENDINGS and one.is_file() and one.resolve() not in listed
    }
    return tuple(sorted(one for one in found if one.partition(".")[0].lower() not in _NO_CHAPTERS))


def _parse_position(documents: Mapping[str, Document], row: CheckedTable, key: str) -> Position | None:
    """Parse `"ch-03"` or `{ chapter = "ch-03", after = "a phrase" }`; None where the key is missing."""
    value = row.get_raw(key)
    if value is None:
        return None
    chapter = value.get("chapter") if isinstance(value, dict) else value
    document = documents.get(chapter) if isinstance(chapter, str) else None
    if document is None:
        refuse_project(row.location, message("there is no chapter {chapter!r}", chapter=chapter))
    phrase = value.get("after") if isinstance(value, dict) else None
    if phrase is None:
        return Position(document.id, 0)
    if not isinstance(phrase, str) or not phrase or document.text.count(phrase) != 1:
        problem = message("the words {phrase!r} must stand exactly once in {chapter}", phrase=phrase, chapter=chapter)
        refuse_project(row.location, problem)
    return Position(document.id, document.text.index(phrase) + len(phrase))


def _read_entries(data: CheckedTable, parse_position: PositionParser, people: _People) -> list[Entry]:
    return [
        Entry(
            id=ident,
            type=_read_type(row),
            name=row.get_text("name"),
            aliases=row.get_texts("aliases"),
            level=row.get_value("level", Level, Level.WHEN_DETECTED),
            description=row.get_text("description", "").strip(),
            details=dict(row.get_table("details").items()),
            tags=row.get_texts("tags"),
            notes=row.get_text("notes", ""),
            relations=tuple(_read_relation(one, parse_position, people) for one in row.get_tables("relations")),
            known_to=people.read_known_to(row),
            since=parse_position(row, "since"),
            progressions=tuple(
                _read_progression(step, parse_position, people) for step in row.get_tables("progression")
            ),
            rules=row.get_value("rules", NameRules, NameRules()),
        )
        for ident, row in data.get_tables_by_id("entry")
    ]


def _read_type(row: CheckedTable) -> str:
    try:
        return find_type(row.get_text("type", "other"))
    except FabulaError as error:
        refuse_project(row.location, message("{problem}", problem=error.message))


def _read_relation(row: CheckedTable, parse_position: PositionParser, people: _People) -> Relation:
    return Relation(
        row.get_text("to"),
        row.get_text("kind", ""),
        parse_position(row, "since"),
        parse_position(row, "until"),
        people.read_known_to(row),
    )


def _read_progression(row: CheckedTable, parse_position: PositionParser, people: _People) -> Progression:
    since = parse_position(row, "since")
    if since is None:
        refuse_project(row.location, message("a progression must say since when it holds"))
    aliases = row.get_texts("aliases")
    return Progression(
        row.get_text("text", "") if aliases else row.get_text("text"), since, people.read_known_to(row), aliases
    )


def _read_constraints(data: CheckedTable, parse_position: PositionParser) -> list[Constraint]:
    return [
        Constraint(
            id=ident,
            text=row.get_text("text"),
            kind=row.get_value("kind", ConstraintKind, ConstraintKind.STYLE),
            origin=row.get_value("origin", ConstraintOrigin, ConstraintOrigin.USER),
            priority=row.get_integer("priority", 50, low=0, high=100),
            created_at=str(row.get_raw("made") or ""),
            since=parse_position(row, "since"),
            until=parse_position(row, "until"),
            check=row.get_value("check", TextCheck),
        )
        for ident, row in data.get_tables_by_id("constraint")
    ]


def _read_memory(project: Project, data: CheckedTable, parse_position: PositionParser) -> Memory:
    def notes(key: str) -> list[MemoryNote]:
        return [
            MemoryNote(ident, row.get_text("text").strip(), parse_position(row, "since"))
            for ident, row in data.get_tables_by_id(key)
        ]

    working = data.get_table("working")
    return Memory(
        project.id,
        language=project.language,
        preferences=[
            Preference(ident, row.get_text("text"), row.get_number("confidence", 0.5, low=0, high=1))
            for ident, row in data.get_tables_by_id("preference")
        ],
        style_samples=notes("style_sample"),
        episodes=notes("episode"),
        working_notes=[
            MemoryNote(str(n), text, parse_position(working, "since"))
            for n, text in enumerate(working.get_texts("recent"), start=1)
        ],
    )


def _read_preset(data: CheckedTable) -> Preset:
    nodes = []
    for row in data.get_tables("node"):
        node = {key: row.get_raw(key) for key in Node.__struct_encode_fields__ if key in row}
        injection = {key: row.get_raw(key) for key in InjectionStrategy.__struct_encode_fields__ if key in row}
        try:
            nodes.append(msgspec.convert({**node, "injectionStrategy": injection} if injection else node, Node))
        except msgspec.ValidationError as error:
            refuse_project(data.location, explain_decode_error(error, Node))
    return Preset(nodes=tuple(nodes))


def _read_messages(path: Path, root: Path) -> list[Message]:
    messages: dict[str, Message] = {}
    for number, line in enumerate(read_text_file(check_inside(path, root, path.name)).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            read = msgspec.json.decode(line, type=Message)
        except (msgspec.MsgspecError, RecursionError) as error:
            problem = explain_decode_error(error, Message)
            refuse_project(path.name, message("line {number}: {error}", number=number, error=problem))
        if not read.id or read.id in messages:
            problem = message("line {number}: the id {name!r} is empty or used twice", number=number, name=read.id)
            refuse_project(path.name, problem)
        messages[read.id] = msgspec.structs.replace(read, content=normalise(read.content))
    return list(messages.values())
