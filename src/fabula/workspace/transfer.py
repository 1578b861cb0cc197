"""Import a manuscript or a project folder, as a new project or into one (man-6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

from msgspec import Struct

from fabula.codex import Codex
from fabula.codex import edits as codex
from fabula.codex.snapshot import read_entries
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import Sentence, advise, join_names, message
from fabula.core.view import Language
from fabula.formats.bounded_import import read_bounded
from fabula.formats.manuscripts.files import detect_language, read_manuscript
from fabula.manuscript import documents, projects
from fabula.manuscript.drafts import ManuscriptDraft
from fabula.manuscript.updating import ManuscriptUpdate, apply_update, preview_update
from fabula.store.store import Store
from fabula.text.lookup import LISTED
from fabula.text.word_count import count_words
from fabula.workspace.project_archive import PROJECT_FILE, has_project, read_project_archive
from fabula.workspace.project_folder import find_unlisted_chapters
from fabula.workspace.read_only import read_view
from fabula.workspace.view_copies import copy_view

Progress = Callable[[int, int], None]
MAX_USUAL_WORDS = 30_000  # of one chapter; a longer one is probably several whose headings were not found


class ImportReport(Struct, frozen=True, kw_only=True):
    """What an import brought in."""

    project_id: str
    title: str
    documents: int
    characters: int
    entries: int = 0
    warnings: tuple[str | Sentence, ...] = ()


class UpdateReport(Struct, frozen=True, kw_only=True):
    """What an update from a newer file did, or would do."""

    project_id: str
    title: str
    update: ManuscriptUpdate
    entries: int = 0  # new codex entries
    warnings: tuple[str | Sentence, ...] = ()


def update_from_file(
    store: Store, path: Path, into: str, user: str, *, remove_missing: bool = False, preview: bool = False
) -> UpdateReport:
    """Update a project from a newer file of its manuscript, in one transaction; with `preview`, change nothing."""
    imported = read_bounded(read_manuscript, path)
    project = projects.find_project(store, into)
    project_id = project.id
    label = None if preview else message("update from {file}", file=path.name)
    with store.write(project=project_id, user=user, undo_label=label) as tx:
        known = read_entries(tx).values()
        names = {name for entry in known for name in (entry.id, entry.name)}
        new_entries = [entry for entry in imported.entries if not {entry.id, entry.name} & names]
        update = preview_update(tx, imported.book)
        if not update.matched:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "None of the chapters in {name} is in this project, so it is no newer version of it. {advice} "
                    "Nothing was changed.",
                    name=path.name,
                    advice=advise(
                        message("To add them, import without --update."),
                        message("To add them, import the file into the project."),
                    ),
                ),
            )
        if not preview:
            update = apply_update(tx, imported.book, remove_missing=remove_missing)
            codex.put_all(tx, new_entries)
    return UpdateReport(
        project_id=project_id,
        title=project.title,
        update=update,
        entries=len(new_entries),
        warnings=tuple(imported.warnings),
    )


def import_file(
    store: Store,
    path: Path,
    *,
    into: str | None = None,
    title: str = "",
    language: str = "",
    progress: Progress | None = None,
) -> ImportReport:
    """Import a manuscript, as a new project or into one, or a project folder or a ZIP file of it, at once."""
    folder = path.parent if path.name == PROJECT_FILE else path
    is_folder = into is None and (folder / PROJECT_FILE).is_file()
    if is_folder or (into is None and has_project(path)):
        view, unlisted = (
            (read_view(folder), find_unlisted_chapters(folder)) if is_folder else read_project_archive(path)
        )
        project_id = copy_view(store, view, title=title)
        count, characters = projects.count_text(store, project_id)
        return ImportReport(
            project_id=project_id,
            title=projects.find_project(store, project_id).title,
            documents=count,
            characters=characters,
            entries=len(copied.entries) if (copied := view.snapshot(Codex)) is not None else 0,
            warnings=_warn_of_unlisted(unlisted),
        )
    imported = read_bounded(read_manuscript, path)
    book = imported.book
    warnings: list[str | Sentence] = [*imported.warnings]
    project_id = new_id() if into is None else projects.find_project(store, into).id
    label = message("import of {file}", file=path.name)
    with store.write(project=project_id, undo_label=label) as tx:
        if into is None:
            chosen = normalise_language(language) or _supported_language(book.language, warnings)
            projects.insert(tx, project_id, title=title or book.title or path.stem, language=chosen)
        added = documents.add_draft(tx, book, progress=progress)
        codex.put_all(tx, imported.entries)
    return ImportReport(
        project_id=project_id,
        title=projects.find_project(store, project_id).title,
        documents=len(added),
        characters=sum(len(draft.text) for draft in book.walk()),
        entries=len(imported.entries),
        warnings=(*warnings, *_describe_long_chapters(book)),
    )


def _warn_of_unlisted(names: Sequence[str]) -> tuple[Sentence, ...]:
    if not names:
        return ()
    shown = [*names[:LISTED], *(["…"] if len(names) > LISTED else [])]
    return (
        message(
            "These files are no part of the project, because project.toml does not list them under [[chapters]]: "
            "{names}.",
            names=join_names(shown),
        ),
    )


def _describe_long_chapters(book: ManuscriptDraft) -> list[Sentence]:
    """Say which chapters are so long that they are probably several, and how to split them."""
    counted = [(draft.title or book.title, count_words(draft.text)) for draft in book.walk()]
    long = [(title, words) for title, words in counted if words > MAX_USUAL_WORDS]
    if not long:
        return []
    title, words = max(long, key=lambda one: one[1])
    advice = advise(
        message(
            "Put a heading over each chapter in the file, such as “# The Return” or “Chapter 2”, and import it again. "
            "Or split the chapter: fabula chapter split PROJECT CHAPTER:WORDS TITLE"
        ),
        message(
            "Put a heading over each chapter in the file, such as “# The Return” or “Chapter 2”, and import it again. "
            "Or open the chapter, put the cursor where the next one begins, and choose “Split the chapter at the "
            "cursor” among the commands."
        ),
    )
    if len(long) == 1:
        return [
            message(
                "“{title}” came in as one chapter of {words:,} words. {advice}", title=title, words=words, advice=advice
            )
        ]
    return [
        message(
            "{count} chapters have more than {limit:,} words; “{title}” has {words:,}. {advice}",
            count=len(long),
            limit=MAX_USUAL_WORDS,
            title=title,
            words=words,
            advice=advice,
        )
    ]


def normalise_language(tag: str) -> str:
    """Return the language of a tag: `zh-Hans` is zh."""
    return tag.lower().replace("_", "-").split("-")[0]


def find_title_language(title: str) -> Language:
    """Return the language that a title is written in: Chinese by its characters, else English."""
    return "zh" if detect_language(title) == "zh" else "en"


def _supported_language(tag: str, warnings: list[str | Sentence]) -> str:
    language = normalise_language(tag) or "en"
    if language in get_args(Language):
        return language
    warnings.append(
        message(
            "The file says that its language is {tag!r}. Fabula writes its prompts in English. "
            "Your text stays as it is.",
            tag=tag,
        )
    )
    return "en"
