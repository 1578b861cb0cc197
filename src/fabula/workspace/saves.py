"""Save a project; look into a save, then load what was agreed to: two steps, as a save may come from anybody (sav-2).

`inspect_save` checks the whole file and says what it would bring; it changes nothing. `load_save` takes the choices
that a person made after that: whether to replace a project, to join a series, and to take over what is a person's.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import ENGLISH, advise, message, show
from fabula.manuscript import projects
from fabula.settings.registry import SETTINGS
from fabula.settings.values import read_budget_settings
from fabula.skills.project_skills import SETTING_PREFIX
from fabula.store.save.checking import check_save, list_warnings
from fabula.store.save.loading import LoadResult
from fabula.store.save.loading import load_save as load_checked
from fabula.store.save.manifest import Record
from fabula.store.save.progress import Progress, ProgressCounter
from fabula.store.save.reader import SaveReader
from fabula.store.save.tables import TableFormat, table_formats
from fabula.store.slugs import make_slug
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.carried_facts import save_complete
from fabula.workspace.schemas.saves import LoadChoices, PersonInSave, SavedSetting, SaveInspection
from fabula.workspace.verbs import require_store

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle


def inspect_save(
    store: Store, path: Path, *, language: str = ENGLISH, progress: Progress | None = None
) -> SaveInspection:
    """Check a save, and say what it would bring into this store; nothing is changed."""
    with SaveReader(path) as save:
        manifest = save.manifest
        counter = ProgressCounter(progress, manifest.rows)
        counts = check_save(save, counter)
        (project,) = _records(save, "projects")
        settings, kept_back = _split(save, "settings")
        for budget in _records(save, "budgets"):
            settings |= read_budget_settings(budget.get("profile"), budget.get("limits"))
        user_settings, user_kept_back = _split(save, "person/user_settings")
        profile = "".join(str(row.get("text", "")) for row in _records(save, "person/profiles"))
        counter.finish()
        series = manifest.series
        return SaveInspection(
            file=path.name,
            checksum=save.checksum,
            title=str(project.get("title", "")),
            kind=str(project.get("kind", "book")),
            language=str(project.get("language", "en")),
            program=manifest.program,
            made=manifest.created_at,
            rows=counts,
            presets=tuple(sorted(str(row.get("name", "")) for row in _records(save, "presets"))),
            lorebooks=tuple(sorted(str(row.get("name", "")) for row in _records(save, "lorebooks"))),
            skills=tuple(sorted(name.removeprefix(SETTING_PREFIX) for name in settings if _is_skill(name))),
            settings=tuple(_describe(settings)),
            left_out=tuple(sorted({*kept_back, *user_kept_back})),
            series=series.title if series is not None else "",
            shared_entries=counts.get("series/codex_entries", 0),
            known_series=_find_series(store, series.id, series.title) if series is not None else "",
            same_title=projects.has_title(store, str(project.get("title", ""))),
            person=PersonInSave(
                profile_characters=len(profile),
                memories=counts.get("person/user_memories", 0),
                settings=tuple(_describe(user_settings)),
            ),
            warnings=tuple(str(show(one, language)) for one in list_warnings(manifest)),
        )


def load_save(
    store: Store, path: Path, choices: LoadChoices, *, user: str = LOCAL_USER, progress: Progress | None = None
) -> LoadResult:
    """Load a save as a new project, or in place of one that is backed up first."""
    target = None if choices.replace is None else projects.find_project(store, choices.replace).id
    series_id = None
    if choices.join_series is not None:
        series_id = projects.find_project(store, choices.join_series, kind="series").id
    if target is None and not choices.beside:
        with SaveReader(path) as save:
            title = save.manifest.project.title
        projects.check_title(
            store,
            title,
            advise(
                message("Replace it with --replace, or add --yes to load the save beside it."),
                message("Replace it (`replace`), or load the save beside it (`beside`)."),
            ),
        )
    return load_checked(
        store,
        path,
        project_id=target,
        replace=target is not None,
        user=user if choices.with_person else None,
        join_series=series_id,
        checksum=choices.checksum,
        progress=progress,
    )


class SaveResult(Struct, frozen=True):
    """Where a project was saved, how many rows the save has, and what it has of the book's series."""

    path: Path
    rows: int
    series: str = ""  # the title
    shared_entries: int = 0


def save_project(
    project: ProjectHandle,
    path: Path | None,
    *,
    with_person: bool = True,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> SaveResult:
    """Save a project as one file, by default named by its title; with what is the person's, if that is wanted."""
    target = path or Path(f"{make_slug(project.view.project.title) or 'project'}.fabula")
    if target.exists() and not overwrite:
        raise FabulaError(
            Code.EXPORT_REFUSED,
            message(
                "There is a file {path} already. Nothing was written. {advice}",
                path=target,
                advice=advise(
                    message("Name another one, or add --overwrite to replace it."),
                    message("Name another one, or let it be replaced (`overwrite`)."),
                ),
            ),
        )
    user = project.principal.user if with_person else None
    manifest = save_complete(require_store(project), project.id, target, user=user, progress=progress)
    shared = sum(
        member.rows or 0 for name, member in manifest.members.items() if name.startswith("series/codex_entries")
    )
    title = manifest.series.title if manifest.series is not None else ""
    return SaveResult(target, manifest.rows, title, shared)


def _records(save: SaveReader, table: str) -> Iterable[Record]:
    return (line.record for line in save.lines(table))


def _split(save: SaveReader, table: str) -> tuple[dict[str, object], list[str]]:
    """The settings that a save may bring by name, and the names of the others."""
    table_format: TableFormat = next(one for one in table_formats() if one.name == table)
    rows = list(_records(save, table))
    portable = {str(row["name"]): row.get("value") for row in rows if table_format.is_portable(row)}
    return portable, [str(row["name"]) for row in rows if row["name"] not in portable]


def _describe(settings: dict[str, object]) -> Iterable[SavedSetting]:
    return (SavedSetting(name=name, value=settings[name]) for name in sorted(settings) if name in SETTINGS)


def _is_skill(name: str) -> bool:
    return name.startswith(SETTING_PREFIX)


def _find_series(store: Store, series_id: str, title: str) -> str:
    """The title of a series of this store that the book could join."""
    every = [row for row in store.project_rows() if row.kind == "series"]
    return next((row.title for row in every if row.project_id == series_id or row.title == title), "")
