"""A project as a folder of plain files, or as one text file: read, never written.

    project.toml   id, title, language, rules, and the chapters in their order
    chapters/…     Markdown or plain text
    codex.toml  constraints.toml  memory.toml  preset.toml  conversation.jsonl   (each optional)

A single `.md` or `.txt` file is a project too: its headings become chapters.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from fabula.codex.model import Codex, Entry, Level, Progression, Relation
from fabula.constraints.model import Constraint, Constraints, Kind, Origin
from fabula.context.recipes.preset import Injection, Node, Preset
from fabula.conversation.model import Conversations, Message
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.core.view import Language, Project, View
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.memory.model import Memory, Note, Preference
from fabula.search.passages import Passages
from fabula.text.offsets import normalise

MOST_BYTES = 64_000_000
CONVERSATION = "desk"
_HEADING = re.compile(r"^#{1,2}[ \t]+(.{1,200}?)[ \t#]*$", re.MULTILINE)
_WIDE = re.compile(r"[\u3400-\u9fff]")
T = TypeVar("T")


def read_project(path: Path) -> View:
    """The view of a project folder or file."""
    if not path.exists():
        raise FabulaError(Code.PROJECT_NOT_FOUND, f"There is nothing at {path}. Name a project folder or a text file.")
    return _read_folder(path) if path.is_dir() else _read_file(path)


def _read_file(path: Path) -> View:
    text = _text(path)
    language: Language = "zh" if len(_WIDE.findall(text[:4000])) > 200 else "en"
    marks = list(_HEADING.finditer(text))
    edges = [mark.start() for mark in marks] + [len(text)]
    documents = []
    if text[: edges[0]].strip() or not marks:
        documents.append(Document("ch-00", path.stem, text[: edges[0]].strip("\n")))
    for number, (mark, end) in enumerate(zip(marks, edges[1:], strict=True), start=1):
        documents.append(Document(f"ch-{number:02}", mark[1], text[mark.end() : end].strip("\n")))
    project = Project(id=path.stem, title=path.stem, language=language)
    return _view(project, Manuscript(tuple(documents)), {})


def _read_folder(root: Path) -> View:
    head = _toml(root / "project.toml")
    language: Language = "zh" if _get(head, "language", str, "en", "project.toml") == "zh" else "en"
    where = "project.toml"
    project = Project(
        id=_get(head, "id", str, root.name, where),
        title=_get(head, "title", str, root.name, where),
        language=language,
        identity=_get(head, "identity", str, "", where),
    )
    manuscript = Manuscript(tuple(_chapters(root, head)))
    place = _Places(manuscript)
    rooms: dict[type, object] = {
        Direction: Direction(
            kind=_get(head, "type", str, "", where),
            person=_get(head, "person", str, "", where),
            world=_strings(head, "world", where),
            rules=_strings(head, "rules", where),
            style=_get(head, "style", str, "", where),
        )
    }
    if (root / "codex.toml").exists():
        rooms[Codex] = Codex(project.id, language, _entries(_toml(root / "codex.toml"), place))
    if (root / "constraints.toml").exists():
        rooms[Constraints] = Constraints(project.id, _constraints(_toml(root / "constraints.toml"), place))
    if (root / "memory.toml").exists():
        rooms[Memory] = _memory(project.id, _toml(root / "memory.toml"))
    if (root / "preset.toml").exists():
        rooms[Preset] = _preset(_toml(root / "preset.toml"))
    if (root / "conversation.jsonl").exists():
        rooms[Conversations] = Conversations(project.id, {CONVERSATION: _messages(root / "conversation.jsonl")})
    return _view(project, manuscript, rooms)


def _view(project: Project, manuscript: Manuscript, rooms: dict[type, object]) -> View:
    passages = Passages((d.id, d.title, d.text) for d in manuscript.documents)
    return View(project, manuscript.timeline(), {Manuscript: manuscript, Passages: passages, **rooms})


def _chapters(root: Path, head: Mapping[str, Any]) -> list[Document]:
    documents, seen = [], set()
    for row in _rows(head, "chapters", "project.toml"):
        where = "project.toml, chapters"
        file = root / _get(row, "file", str, None, where)
        if not file.resolve().is_relative_to(root.resolve()):
            _bad(where, f"{row['file']!r} lies outside the project folder")
        ident = _get(row, "id", str, None, where)
        if ident in seen:
            _bad(where, f"the id {ident!r} is used twice")
        seen.add(ident)
        text = _text(file)
        heading = _HEADING.match(text)
        if heading:
            text = text[heading.end() :]
        when = row.get("when")
        if when is not None and (isinstance(when, bool) or not isinstance(when, int | float)):
            _bad(where, f"`when` of {ident!r} must be a number")
        documents.append(
            Document(
                id=ident,
                title=_get(row, "title", str, heading[1] if heading else ident, where),
                text=text.strip("\n"),
                pov=_get(row, "pov", str, "", where) or None,
                when=None if when is None else float(when),
                synopsis=_get(row, "synopsis", str, "", where).strip(),
                beats=_strings(row, "beats", where),
            )
        )
    return documents


class _Places:
    """Turns `"ch-03"` or `{ chapter = "ch-03", after = "a phrase" }` into a position."""

    def __init__(self, manuscript: Manuscript) -> None:
        self._documents = manuscript.by_id

    def __call__(self, mark: object, where: str) -> Position | None:
        if mark is None:
            return None
        chapter = mark.get("chapter") if isinstance(mark, dict) else mark
        document = self._documents.get(chapter) if isinstance(chapter, str) else None
        if document is None:
            _bad(where, f"there is no chapter {chapter!r}")
        phrase = mark.get("after") if isinstance(mark, dict) else None
        if phrase is None:
            return Position(document.id, 0)
        if not isinstance(phrase, str) or document.text.count(phrase) != 1:
            _bad(where, f"the words {phrase!r} must stand exactly once in {document.id}")
        return Position(document.id, document.text.index(phrase) + len(phrase))


def _entries(data: Mapping[str, Any], place: _Places) -> list[Entry]:
    entries, seen = [], set()
    for row in _rows(data, "entry", "codex.toml"):
        ident = _get(row, "id", str, None, "codex.toml")
        where = f"codex.toml, {ident}"
        if ident in seen:
            _bad(where, "this id is used twice")
        seen.add(ident)
        steps = tuple(
            Progression(
                _get(step, "text", str, None, where),
                place(step.get("since"), where) or _bad(where, "a progression must say since when it holds"),
                _known_to(step, where),
            )
            for step in _rows(row, "progression", where)
        )
        relations = tuple(
            Relation(_get(r, "to", str, None, where), _get(r, "kind", str, "", where))
            for r in _rows(row, "relations", where)
        )
        details = row.get("details", {})
        if not isinstance(details, dict):
            _bad(where, "`details` must be a table")
        name = _get(row, "name", str, None, where)
        if not name.strip():
            _bad(where, "an entry needs a name")
        entries.append(
            Entry(
                id=ident,
                type=_get(row, "type", str, "other", where),
                name=name,
                aliases=_strings(row, "aliases", where),
                level=_choice(Level, row.get("level", "when_detected"), where),
                description=_get(row, "description", str, "", where).strip(),
                details={str(key): str(value) for key, value in details.items()},
                tags=_strings(row, "tags", where),
                notes=_get(row, "notes", str, "", where),
                relations=relations,
                known_to=_known_to(row, where),
                since=place(row.get("since"), where),
                progressions=steps,
            )
        )
    return entries


def _constraints(data: Mapping[str, Any], place: _Places) -> list[Constraint]:
    found = []
    for row in _rows(data, "constraint", "constraints.toml"):
        ident = _get(row, "id", str, None, "constraints.toml")
        where = f"constraints.toml, {ident}"
        found.append(
            Constraint(
                id=ident,
                text=_get(row, "text", str, None, where),
                kind=_choice(Kind, row.get("kind", "style"), where),
                origin=_choice(Origin, row.get("origin", "user"), where),
                priority=_get(row, "priority", int, 50, where),
                made=str(row.get("made", "")),
                since=place(row.get("since"), where),
                until=place(row.get("until"), where),
            )
        )
    return found


def _memory(project_id: str, data: Mapping[str, Any]) -> Memory:
    where = "memory.toml"

    def notes(key: str) -> list[Note]:
        return [
            Note(_get(row, "id", str, None, where), _get(row, "text", str, None, where).strip())
            for row in _rows(data, key, where)
        ]

    preferences = [
        Preference(
            _get(row, "id", str, None, where),
            _get(row, "text", str, None, where),
            float(_get(row, "confidence", (int, float), 0.5, where)),
        )
        for row in _rows(data, "preference", where)
    ]
    working = data.get("working", {})
    recent = _strings(working, "recent", where) if isinstance(working, dict) else ()
    return Memory(
        project_id,
        preferences=preferences,
        style_samples=notes("style_sample"),
        episodes=notes("episode"),
        recent=recent,
    )


def _preset(data: Mapping[str, Any]) -> Preset:
    nodes = []
    for row in _rows(data, "node", "preset.toml"):
        plain = {key: value for key, value in row.items() if key not in Injection.__struct_encode_fields__}
        wish = {key: value for key, value in row.items() if key in Injection.__struct_encode_fields__}
        if wish:
            plain["injectionStrategy"] = wish
        try:
            nodes.append(msgspec.convert(plain, Node))
        except msgspec.ValidationError as error:
            _bad("preset.toml", str(error))
    return Preset(nodes=tuple(nodes))


def _messages(path: Path) -> list[Message]:
    found = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if line.strip():
            try:
                found.append(msgspec.json.decode(line, type=Message))
            except msgspec.MsgspecError as error:
                _bad(f"{path.name}, line {number}", str(error))
    return found


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            _bad(path.name, f"it is larger than {MOST_BYTES // 1_000_000} MB")
        return normalise(path.read_text("utf-8-sig"))
    except UnicodeDecodeError:
        _bad(path.name, "it is not UTF-8 text")
    except OSError as error:
        _bad(path.name, f"it could not be read ({error.strerror})")


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        _bad(path.name, str(error))


def _rows(data: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    rows = data.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        _bad(where, f"`{key}` must be a list of tables")
    return rows


def _strings(data: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    values = data.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        _bad(where, f"`{key}` must be a list of texts")
    return tuple(values)


def _known_to(data: Mapping[str, Any], where: str) -> frozenset[str] | None:
    return frozenset(_strings(data, "known_to", where)) if "known_to" in data else None


def _get(data: Mapping[str, Any], key: str, kind: Any, default: Any, where: str) -> Any:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, kind):
        _bad(where, f"`{key}` is missing" if key not in data else f"`{key}` must be {_NAMES.get(kind, 'a number')}")
    return value


_NAMES = {str: "a text", int: "a whole number"}


def _choice(kind: Callable[[Any], T], value: object, where: str) -> T:
    try:
        return kind(value)
    except ValueError:
        _bad(where, f"{value!r} is none of the known values")


def _bad(where: str, problem: str) -> NoReturn:
    raise FabulaError(Code.PROJECT_INVALID, f"{where}: {problem}. The project was not opened; nothing was changed.")
