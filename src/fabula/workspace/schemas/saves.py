"""Schemas of saves: what one would bring, the choices of whoever loads it, and what was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabula.core.messages import ENGLISH
from fabula.workspace.schemas.schema import Schema, describe

if TYPE_CHECKING:
    from fabula.store.save.loading import LoadResult


class SavedSetting(Schema):
    """A setting in a save, and its value there."""

    name: str
    value: Any


class PersonInSave(Schema):
    """What a save holds of the person who made it; it is loaded only when asked for."""

    profile_characters: int = 0
    memories: int = 0
    settings: tuple[SavedSetting, ...] = ()


class SaveInspection(Schema):
    """What a save would bring; `leftOut` names settings that no save can bring."""

    file: str
    checksum: str
    title: str
    kind: str
    language: str
    program: str
    made: str
    rows: dict[str, int]
    presets: tuple[str, ...]
    lorebooks: tuple[str, ...]
    skills: tuple[str, ...]
    settings: tuple[SavedSetting, ...]
    left_out: tuple[str, ...]
    series: str
    shared_entries: int
    known_series: str
    same_title: bool
    person: PersonInSave
    warnings: tuple[str, ...]


class LoadChoices(Schema):
    """How to load a save: what to replace, which series to join, and whether to take over what is a person's.

    Where there is a project of the same title, a load is refused unless it is to stand `beside` it.
    With the `checksum` of an inspection, only the file that was inspected is loaded.
    """

    replace: str | None = None
    join_series: str | None = None
    with_person: bool = False
    beside: bool = False
    checksum: str = ""


class LoadedSave(Schema):
    """What loading a save made: the project, the backup of the one it replaced, and its series."""

    project: str
    title: str
    backup: str | None
    series: str
    not_loaded: dict[str, int]
    omitted: dict[str, int]
    warnings: tuple[str, ...]


def describe_load(loaded: LoadResult, title: str, language: str = ENGLISH) -> LoadedSave:
    """Describe what was loaded, with the title of the project."""
    return describe(
        LoadedSave,
        loaded,
        language,
        project=loaded.project_id,
        title=title,
        backup=None if loaded.backup is None else str(loaded.backup),
        series="" if loaded.series is None else loaded.series.title,
    )
