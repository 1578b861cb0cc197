"""Resources of the MCP server: chapters, codex entries and recaps, each with an address of its own.

`fabula://project/PROJECT/chapter/ID` names one by ids. A long text comes in parts: the last line of a part, behind the
quotation, has the address of the next one. A list opens one project after the other, and no more than a page needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, unquote

from msgspec import Struct

from fabula.access.model import Right
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.mcp.access import McpAccess
from fabula.mcp.quotation import quote_story
from fabula.workspace.change_feed import ChangeBatch
from fabula.workspace.project import ProjectHandle
from fabula.workspace.project_events import EventReader
from fabula.workspace.reading import ReadableItem, ReadableText
from fabula.workspace.schemas.events import EventKind
from fabula.workspace.workspace import Workspace

PAGE_SIZE = 100
MAX_RESOURCE_TEXT = 50_000  # characters in one part
TEMPLATES: dict[str, tuple[Sentence, Sentence]] = {  # by the kind of resource: title and description
    "chapter": (message("A chapter"), message("The text of a chapter, by the ids of project and chapter.")),
    "entry": (message("A codex entry"), message("What the codex says of a person, a place, a thing or a fact.")),
    "recap": (message("Recaps of a conversation"), message("What was said in a conversation so far.")),
}
_VERBS = {"chapter": "reading.read_chapter", "entry": "reading.read_entry", "recap": "reading.read_recap"}
_EVENT_KINDS: Mapping[str, EventKind] = {"chapter": "chapters", "entry": "codex", "recap": "recaps"}
_REFUSALS = (Code.STORE_NOT_FOUND, Code.DOCUMENT_UNKNOWN, Code.PROJECT_NOT_FOUND, Code.NOT_ALLOWED)
_ADDRESS = re.compile(r"fabula://project/([^/?#]+)/(chapter|entry|recap)/([^/?#]+)(?:\?start=(\d{1,12}))?")
_CURSOR = re.compile(r"(\d{1,18}):(\d{1,12})")


class ResourceInfo(Struct, frozen=True):
    """A resource as lists show it: its address, and what it is."""

    uri: str
    item: ReadableItem
    project: str  # the title


def make_uri(project_id: str, kind: str, ident: str) -> str:
    """Return the address of a chapter, an entry or the recaps of a conversation."""
    return f"fabula://project/{quote(project_id, safe='')}/{kind}/{quote(ident, safe='')}"


def make_template(kind: str) -> str:
    """Return the template of the addresses of one kind."""
    return f"fabula://project/{{project}}/{kind}/{{id}}{{?start}}"


def list_resources(
    workspace: Workspace, access: McpAccess, cursor: str | None
) -> tuple[list[ResourceInfo], str | None]:
    """List one page of resources, and the cursor of the next one; None after the last."""
    number, skipped = _read_cursor(cursor)
    page: list[ResourceInfo] = []
    for project in access.list_projects(workspace):
        if project.number < number:
            continue
        found = _list_items(access.open_project(workspace, project.id), access.choose_project(workspace, project.id))
        items = [ResourceInfo(make_uri(project.id, one.kind, one.id), one, project.title) for one in found]
        start = skipped if project.number == number else 0
        page += items[start : start + PAGE_SIZE - len(page)]
        if len(page) == PAGE_SIZE:
            return page, f"{project.number}:{items.index(page[-1]) + 1}"
    return page, None


def read_resource(workspace: Workspace, access: McpAccess, uri: str, language: str) -> str:
    """Read a resource, or a part of it, as a quotation; what is foreign, hidden or absent is not found."""
    text, start = _find(workspace, access, uri)
    end = start + MAX_RESOURCE_TEXT
    quotation = quote_story(text.text[start:end])
    if end >= text.length:
        return quotation
    further = f"{uri.partition('?')[0]}?start={end}"
    rest = message("There is more of it: {uri}", uri=further).render(language)
    return f"{quotation}\n{rest}"


def can_read(workspace: Workspace, access: McpAccess, uri: str) -> bool:
    """Return whether a client may read a resource."""
    try:
        _find(workspace, access, uri)
    except FabulaError:
        return False
    return True


def open_reader(workspace: Workspace, access: McpAccess, project_id: str) -> EventReader | None:
    """Return what a client may be told of the changes of a project; None where it may not read it."""
    try:
        project, own = access.open_project(workspace, project_id), access.choose_project(workspace, project_id)
    except FabulaError as error:
        if error.code not in _REFUSALS:
            raise
        return None
    kinds = [_EVENT_KINDS[kind] for kind, verb in _VERBS.items() if own.may_use(Right.ASSEMBLE, verb)]
    return EventReader(project, kinds) if kinds else None


def find_updated(reader: EventReader, batch: ChangeBatch, uris: Iterable[str]) -> list[str]:
    """Return which of some addresses of a project are of what changed; all where it is not known what did."""
    events = reader.select(batch, most=None)
    changed = {(item.kind, item.id) for event in events or () for item in event.changes if item.kind in reader.kinds}
    read = ((uri, _ADDRESS.fullmatch(uri)) for uri in sorted(uris))
    named = [(uri, _EVENT_KINDS[matched[2]], unquote(matched[3])) for uri, matched in read if matched is not None]
    return [uri for uri, kind, ident in named if (kind in reader.kinds if events is None else (kind, ident) in changed)]


def find_project_id(uri: str) -> str | None:
    """Return the project that an address is of; None for what is no address."""
    matched = _ADDRESS.fullmatch(uri)
    return None if matched is None else unquote(matched[1])


def list_uris(workspace: Workspace, access: McpAccess, project_id: str) -> list[str]:
    """List the addresses and names of everything in a project, to see whether there is something new."""
    try:
        items = _list_items(access.open_project(workspace, project_id), access.choose_project(workspace, project_id))
        return [f"{make_uri(project_id, one.kind, one.id)} {one.name}" for one in items]
    except FabulaError as error:
        if error.code not in _REFUSALS:
            raise
        return []


def _list_items(project: ProjectHandle, access: McpAccess) -> Iterator[ReadableItem]:
    """List what a client may read of a project; `access` is what it may do there."""
    reading = project.reading
    lists = {"chapter": reading.list_chapters, "entry": reading.list_entries, "recap": reading.list_recaps}
    for kind, list_items in lists.items():
        if access.may_use(Right.ASSEMBLE, _VERBS[kind]):
            yield from list_items()


def _read_cursor(cursor: str | None) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    matched = _CURSOR.fullmatch(cursor)
    if matched is None:
        raise FabulaError(
            Code.REQUEST_INVALID, message("This is no cursor of a list. Start again without one. Nothing was changed.")
        )
    return int(matched[1]), int(matched[2])


def _find(workspace: Workspace, access: McpAccess, uri: str) -> tuple[ReadableText, int]:
    """Return what an address names, and where its text starts; the refusal is the same whatever is wrong with it."""
    matched = _ADDRESS.fullmatch(uri)
    try:
        if matched is None:
            raise _not_found()
        project_id, kind, ident, start = unquote(matched[1]), matched[2], unquote(matched[3]), int(matched[4] or 0)
        if project_id not in (one.id for one in access.list_projects(workspace)):
            raise _not_found()
        if not access.choose_project(workspace, project_id).may_use(Right.ASSEMBLE, _VERBS[kind]):
            raise _not_found()
        reading = access.open_project(workspace, project_id).reading
        read = {"chapter": reading.read_chapter, "entry": reading.read_entry, "recap": reading.read_recap}[kind]
        text = read(ident)
        if text.id != ident or start > text.length:
            raise _not_found()
    except FabulaError as error:
        if error.code in _REFUSALS:
            raise _not_found() from None
        raise
    return text, start


def _not_found() -> FabulaError:
    return FabulaError(Code.STORE_NOT_FOUND, message("There is nothing at this address. List the resources."))
