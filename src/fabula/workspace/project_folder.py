"""A project as a folder of plain files, or as one text file: read, never written.

    project.toml   id, title, language, rules, and the chapters in their order
    chapters/…     Markdown or plain text
    codex.toml  constraints.toml  memory.toml  preset.toml  conversation.jsonl   (each optional)

A single `.md` or `.txt` file is a project too: its headings become chapters.
"""

from __future__ import annotations

import re
from os.path import exists
from pathlib import Path

import msgspec

from fabula.codex.model import Codex, Entry, Level, Progression, Relation
from fabula.constraints.model import Check, Constraint, Constraints, Kind, Origin
from fabula.context.recipes.preset import Injection, Node, Preset
from fabula.conversation.model import Conversations, Message
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.core.view import Language, Project, View
from fabula.formats.safe.field_checks import Row, inside, read_text, read_toml, refuse
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.memory.model import Memory, Note, Preference
from fabula.search.corpus import Shelf
from fabula.text.names.matcher import Rules
from fabula.text.offsets import normalise
from fabula.workspace.search_corpus import shelf_of, talks_of

CONVERSATION = "desk"
_HEADING = re.compile(r"^#{1,2}[ \t]+(.{1,200}?)[ \t#]*$", re.MULTILINE)
_WIDE = re.compile(r"[\u3400-\u9fff]")


def read_project(path: Path) -> View:
    """The view of a project folder or file."""
    if not exists(path):
        raise FabulaError(Code.PROJECT_NOT_FOUND, f"There is nothing at {path}. Name a project folder or a text file.")
    return _read_folder(path) if path.is_dir() else _read_file(path)


def _read_file(path: Path) -> View:
    text = read_text(path)
    language: Language = "zh" if len(_WIDE.findall(text[:4000])) > 200 else "en"
    marks = list(_HEADING.finditer(text))
    edges = [mark.start() for mark in marks] + [len(text)]
    documents = []
    if text[: edges[0]].strip() or not marks:
        documents.append(Document("ch-00", path.stem, text[: edges[0]].strip("\n")))
    for number, (mark, end) in enumerate(zip(marks, edges[1:], strict=True), start=1):
        documents.append(Document(f"ch-{number:02}", mark[1], text[mark.end() : end].strip("\n")))
    return _view(Project(id=path.stem, title=path.stem, language=language), Manuscript(tuple(documents)), {})


def _lacks(root: Path, name: str) -> bool:
    """Is there no such file? One that may not be looked at is another matter."""
    try:
        (root / name).stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _read_folder(root: Path) -> View:
    if _lacks(root, "project.toml"):
        raise FabulaError(
            Code.PROJECT_INVALID,
            f"There is no project.toml in the folder {root.name or root}, so it is no project. Name a folder that has "
            "one, or a single text file. Nothing was changed.",
        )
    head = read_toml(root / "project.toml", root)
    if head.text("language", "en") not in ("en", "zh"):
        refuse(head.where, "`language` must be en or zh")
    language: Language = "zh" if head.text("language", "en") == "zh" else "en"
    project = Project(
        id=head.text("id") if "id" in head else root.resolve().name,
        title=head.text("title", root.resolve().name),
        language=language,
        identity=head.text("identity", ""),
    )
    manuscript = Manuscript(tuple(_chapters(root, head)))
    direction = Direction(
        kind=head.text("type", ""),
        person=head.text("person", ""),
        world=head.texts("world"),
        rules=head.texts("rules"),
        style=head.text("style", ""),
    )
    rooms: dict[type, object] = {Direction: direction}
    place = _Places(manuscript)
    if (root / "codex.toml").exists():
        entries = _entries(read_toml(root / "codex.toml", root), place)
        rooms[Codex] = Codex(project.id, language, entries, manuscript.timeline())
    if (root / "constraints.toml").exists():
        rows = _constraints(read_toml(root / "constraints.toml", root), place)
        rooms[Constraints] = Constraints(project.id, rows)
    if (root / "memory.toml").exists():
        rooms[Memory] = _memory(project, read_toml(root / "memory.toml", root), place)
    if (root / "preset.toml").exists():
        rooms[Preset] = _preset(read_toml(root / "preset.toml", root))
    if (root / "conversation.jsonl").exists():
        messages = _messages(root / "conversation.jsonl", root)
        rooms[Conversations] = Conversations(project.id, {CONVERSATION: messages})
    return _view(project, manuscript, rooms)


def _view(project: Project, manuscript: Manuscript, rooms: dict[type, object]) -> View:
    said = rooms.get(Conversations)
    shelf = shelf_of(project.id, manuscript, talks_of(said if isinstance(said, Conversations) else None))
    return View(project, manuscript.timeline(), {Manuscript: manuscript, Shelf: shelf, **rooms})


def _chapters(root: Path, head: Row) -> list[Document]:
    documents = []
    for ident, row in head.named("chapters"):
        text = read_text(inside(root / row.text("file"), root, row.where))
        heading = _HEADING.match(text)
        documents.append(
            Document(
                id=ident,
                title=row.text("title", heading[1] if heading else ident),
                text=(text[heading.end() :] if heading else text).strip("\n"),
                pov=row.text("pov", "") or None,
                when=row.number("when", 0, low=-1e9, high=1e9) if "when" in row else None,
                synopsis=row.text("synopsis", "").strip(),
                beats=row.texts("beats"),
                known_to=_known_to(row),
            )
        )
    return documents


class _Places:
    """Turns `"ch-03"` or `{ chapter = "ch-03", after = "a phrase" }` into a position."""

    def __init__(self, manuscript: Manuscript) -> None:
        self._documents = manuscript.by_id

    def __call__(self, row: Row, key: str) -> Position | None:
        mark = row.raw(key)
        if mark is None:
            return None
        chapter = mark.get("chapter") if isinstance(mark, dict) else mark
        document = self._documents.get(chapter) if isinstance(chapter, str) else None
        if document is None:
            refuse(row.where, f"there is no chapter {chapter!r}")
        phrase = mark.get("after") if isinstance(mark, dict) else None
        if phrase is None:
            return Position(document.id, 0)
        if not isinstance(phrase, str) or not phrase or document.text.count(phrase) != 1:
            refuse(row.where, f"the words {phrase!r} must stand exactly once in {document.id}")
        return Position(document.id, document.text.index(phrase) + len(phrase))


def _entries(data: Row, place: _Places) -> list[Entry]:
    return [
        Entry(
            id=ident,
            type=row.text("type", "other"),
            name=row.text("name"),
            aliases=row.texts("aliases"),
            level=row.choice("level", Level, "when_detected"),
            description=row.text("description", "").strip(),
            details=dict(row.table("details").items()),
            tags=row.texts("tags"),
            notes=row.text("notes", ""),
            relations=tuple(Relation(r.text("to"), r.text("kind", "")) for r in row.rows("relations")),
            known_to=_known_to(row),
            since=place(row, "since"),
            progressions=tuple(_progression(step, place) for step in row.rows("progression")),
            rules=row.read("rules", Rules) or Rules(),
        )
        for ident, row in data.named("entry")
    ]


def _progression(row: Row, place: _Places) -> Progression:
    since = place(row, "since")
    if since is None:
        refuse(row.where, "a progression must say since when it holds")
    aliases = row.texts("aliases")
    return Progression(row.text("text", "") if aliases else row.text("text"), since, _known_to(row), aliases)


def _known_to(row: Row) -> frozenset[str] | None:
    return frozenset(row.texts("known_to")) if "known_to" in row else None


def _constraints(data: Row, place: _Places) -> list[Constraint]:
    return [
        Constraint(
            id=ident,
            text=row.text("text"),
            kind=row.choice("kind", Kind, "style"),
            origin=row.choice("origin", Origin, "user"),
            priority=row.whole_number("priority", 50, low=0, high=100),
            made=str(row.raw("made") or ""),
            since=place(row, "since"),
            until=place(row, "until"),
            check=row.read("check", Check),
        )
        for ident, row in data.named("constraint")
    ]


def _memory(project: Project, data: Row, place: _Places) -> Memory:
    def notes(key: str) -> list[Note]:
        return [Note(ident, row.text("text").strip(), place(row, "since")) for ident, row in data.named(key)]

    sitting = data.table("working")
    return Memory(
        project.id,
        language=project.language,
        preferences=[
            Preference(ident, row.text("text"), row.number("confidence", 0.5, low=0, high=1))
            for ident, row in data.named("preference")
        ],
        style_samples=notes("style_sample"),
        episodes=notes("episode"),
        recent=[Note(str(n), text, place(sitting, "since")) for n, text in enumerate(sitting.texts("recent"), start=1)],
    )


def _preset(data: Row) -> Preset:
    nodes = []
    wishes = Injection.__struct_encode_fields__
    for row in data.rows("node"):
        plain = {key: row.raw(key) for key in Node.__struct_encode_fields__ if key in row}
        wish = {key: row.raw(key) for key in wishes if key in row}
        try:
            nodes.append(msgspec.convert({**plain, "injectionStrategy": wish} if wish else plain, Node))
        except msgspec.ValidationError as error:
            refuse(data.where, str(error))
    return Preset(nodes=tuple(nodes))


def _messages(path: Path, root: Path) -> list[Message]:
    found: dict[str, Message] = {}
    for number, line in enumerate(read_text(inside(path, root, path.name)).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            message = msgspec.json.decode(line, type=Message)
        except (msgspec.MsgspecError, RecursionError) as error:
            refuse(f"{path.name}, line {number}", str(error))
        if not message.id or message.id in found:
            refuse(f"{path.name}, line {number}", f"the id {message.id!r} is empty or used twice")
        found[message.id] = msgspec.structs.replace(message, content=normalise(message.content))
    return list(found.values())
