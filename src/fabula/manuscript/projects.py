"""Projects: create, list, find, update and remove them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, get_args

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import func

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, format_time, is_valid_id, new_id
from fabula.core.messages import Sentence, advise, join_names, message
from fabula.core.view import Language, Project
from fabula.manuscript.model import Direction
from fabula.manuscript.tables import documents
from fabula.store.rows import read_struct
from fabula.store.schema import all_tables, table_info
from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import find_by_name, find_by_whole_name, fold_name

_KINDS = ("book", "series")


class ProjectSummary(Struct, frozen=True, kw_only=True):
    """A project, as lists show it."""

    id: str = field(name="project_id")
    title: str
    kind: str
    language: str
    created_at: str = field(name="made")
    updated_at: str = field(name="changed")
    version: int
    number: int  # in the lists of this store
    slug: str = ""  # which no other project of this store has


class ProjectValues(TypedDict, total=False):
    """What a new project may have besides its title."""

    language: str
    identity: str
    direction: Direction | None
    kind: str
    series_id: str | None


def create(
    store: Store,
    title: str,
    *,
    project_id: str | None = None,
    undo_label: Sentence | None = None,
    **values: Unpack[ProjectValues],
) -> str:
    """Create an empty project, which can be undone if it has a label; its id."""
    project_id = project_id or new_id()
    with store.write(project=project_id, undo_label=undo_label) as tx:
        insert(tx, project_id, title=title, **values)
    return project_id


def insert(tx: WriteTransaction, project_id: str, *, title: str, **values: Unpack[ProjectValues]) -> None:
    """Insert the row of a project, in a transaction that may write more."""
    languages = get_args(Language)
    if not title.strip():
        raise FabulaError(Code.PROJECT_INVALID, message("A project needs a title. Nothing was changed."))
    if not is_valid_id(project_id) or values.get("language", "en") not in languages:
        raise FabulaError(
            Code.PROJECT_INVALID,
            message(
                "A project needs an id without spaces or slashes, and one of the languages {languages}. "
                "Nothing was changed.",
                languages=join_names(languages),
            ),
        )
    kind = values.get("kind", "book")
    if kind not in _KINDS or (kind == "series" and values.get("series_id") is not None):
        raise FabulaError(
            Code.PROJECT_INVALID,
            message("A project is a book or a series, and only a book can belong to a series. Nothing was changed."),
        )
    timestamp = current_timestamp()
    direction = msgspec.to_builtins(values.get("direction") or Direction())
    row = {**values, "title": title.strip(), "direction": direction, "made": timestamp, "changed": timestamp}
    tx.insert(projects, row)


def update(tx: WriteTransaction, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change title, language, identity, direction or series; return the new version."""
    return tx.update_row(projects, {}, {**values, "changed": current_timestamp()}, expected=expected)


def rename(tx: WriteTransaction, title: str) -> int:
    """Change the title; return the new version."""
    if not title.strip():
        raise FabulaError(Code.PROJECT_INVALID, message("A project needs a title. Nothing was changed."))
    return update(tx, {"title": title.strip()})


def change_language(tx: WriteTransaction, language: str) -> int:
    """Change the language; return the new version."""
    languages = get_args(Language)
    if language not in languages:
        raise FabulaError(
            Code.PROJECT_INVALID,
            message(
                "A project is written in one of the languages {languages}. Nothing was changed.",
                languages=join_names(languages),
            ),
        )
    return update(tx, {"language": language})


def remove(store: Store, project_id: str) -> None:
    """Remove a project with everything in it."""
    with store.write(project=project_id) as tx:
        remove_rows(tx)


def remove_rows(tx: WriteTransaction) -> None:
    """Remove everything of a project, in a transaction that may do more."""
    tx.require(projects)
    tx.delete_rows(projects)
    for area in {table_info(table).area for table in all_tables() if "table_info" in table.info}:
        tx.record_change("project", area)  # a cascade deletes the rows, which the change feed would not show


def list_projects(store: Store) -> list[ProjectSummary]:
    """All projects, the latest change first; work inside a project is a change of it."""
    times = store.last_changes()
    every = [read_struct(ProjectSummary, row) for row in store.project_rows()]
    dated = [replace(one, updated_at=max(one.updated_at, times.get(one.id, ""))) for one in every]
    return sorted(dated, key=lambda one: one.updated_at, reverse=True)


def count_text(store: Store, project_id: str) -> tuple[int, int]:
    """The numbers of documents and of characters of a project; the database counts them."""
    with store.read(project=project_id) as reading:
        return reading.count(documents), reading.sum_values(documents, func.length(documents.c.text))


def find_whole_project(store: Store, name: str) -> ProjectSummary:
    """The project with that id, title or number, each as it is spelled."""
    for row in store.project_rows(name):
        return read_struct(ProjectSummary, row)
    return find_by_whole_name(
        list_projects(store),
        name,
        what=message("project"),
        id_of=lambda one: one.id,
        names_of=lambda one: (one.title, str(one.number)),
        code=Code.PROJECT_NOT_FOUND,
    )


def find_project(store: Store, name: str, *, kind: Literal["book", "series"] | None = None) -> ProjectSummary:
    """The project with that id, title or number, or whose title or id begins so; of a kind, where one is named."""
    for row in store.project_rows(name):
        if kind in (None, row.kind):
            return read_struct(ProjectSummary, row)
    every = list_projects(store)
    # The kind decides between two of one name. What is spelled like the title of another kind means that one.
    kinds = {one.kind for one in every if fold_name(one.title) == fold_name(name)}
    found = find_by_name(
        every if kind is None or (kinds and kind not in kinds) else [one for one in every if one.kind == kind],
        name,
        what=message("series") if kind == "series" else message("project"),
        id_of=lambda one: one.id,
        names_of=lambda one: (one.title,),
        number_of=lambda one: one.number,
        remark_of=_describe,
        code=Code.PROJECT_NOT_FOUND,
        only_similar=True,
    )
    if kind == "series" and found.kind != kind:
        raise FabulaError(
            Code.PROJECT_INVALID,
            message(
                "{title} is a book, not a series. {advice} Nothing was changed.",
                title=found.title,
                advice=advise(
                    message("Name a series, or begin one: fabula series new TITLE."),
                    message("Name a series, or begin a new one."),
                ),
            ),
        )
    return found


def find_by_slug(store: Store, slug: str) -> str | None:
    """The id of the project with that slug, or with that id; None where there is none."""
    rows = [*store.project_rows(slug=slug), *store.project_rows(slug)] if slug else []
    return rows[0].project_id if rows else None


def _describe(project: ProjectSummary) -> Sentence:
    """What tells a project apart from another of the same title."""
    time = format_time(project.updated_at)
    if project.kind == "series":
        return message("a series, changed {time}", time=time)
    return message("a book, changed {time}", time=time)


def has_title(store: Store, title: str) -> bool:
    """Whether a project of the store has this title."""
    return any(one.title == title for one in list_projects(store))


ALLOW_DUPLICATE = advise(
    message("Choose another title, or add --yes to have both."),
    message("Choose another title, or allow that two have it (`allowDuplicate`)."),
)


def check_title(
    store: Store,
    title: str,
    advice: Sentence,
    *,
    except_for: str = "",
    among: Sequence[ProjectSummary] | None = None,
) -> None:
    """Refuse a title that another project has, of all projects or of some: nobody is told of those of others."""
    known = list_projects(store) if among is None else among
    same = [one for one in known if one.title == title and one.id != except_for]
    if same:
        raise FabulaError(
            Code.STORE_DUPLICATE,
            message(
                "There is a project {title!r} already (number {number}, {remark}). {advice} Nothing was changed.",
                title=title,
                number=same[0].number,
                remark=_describe(same[0]),
                advice=advice,
            ),
        )


def store_identity(identity: str | None) -> str:
    """An identity as its column holds it: empty for the built-in one, a space for none at all."""
    return "" if identity is None else identity or " "


def load_project(reading: ReadTransaction) -> tuple[Project, Direction, str | None]:
    """A project, its direction, and the id of its series."""
    row = reading.require(projects)
    project = read_struct(Project, row, id=row.project_id, identity=row.identity or None)
    return project, msgspec.convert(row.direction, Direction), row.series_id
