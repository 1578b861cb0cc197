"""Commands about projects: make, list, import, export, save, load, and check the store."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import find_project, name_project, number_project, open_workspace
from fabula.cli.options import IDS, JSON, OVERWRITE, PROJECT, STORE
from fabula.cli.output import (
    current_language,
    format_time,
    has_chosen_language,
    invalid_request,
    language_of_texts,
    print_json,
    print_line,
    print_warnings,
    quote_name,
    render,
    say,
    translate,
    use_project_language,
    warn,
)
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, print_list, print_table
from fabula.cli.value_names import name_value
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, list_languages, message, plural

if TYPE_CHECKING:
    from fabula.store.doctor import HealthFinding
    from fabula.workspace.schemas.projects import ProjectInfo
    from fabula.workspace.schemas.saves import SaveInspection

if TYPE_CHECKING:
    from fabula.store.save.loading import LoadedSeries

LANGUAGE = Annotated[str, Option("--language", "-l", help="en or zh; found out from the text if left out.")]
WITHOUT_PERSON = Annotated[bool, Option("--without-person", help="Leave out your own profile, memories and settings.")]

commands = CommandGroup()


@commands.command("new")
def create_project(
    title: Annotated[str, Argument(help="What it is called.")],
    start: Annotated[
        str | None, Option("--from", help="Begin with a project folder, a text file or sample:NAME.")
    ] = None,
    language: LANGUAGE = "",
    store: STORE = None,
) -> None:
    """Make a project in the store.

    Example: fabula new "The Lantern Coast" --from sample:lantern_coast
    """
    with open_workspace(store) as workspace:
        if start is None:
            own = language_of_texts()
            project = workspace.create_project(title, language=language or ("" if own == "en" else own))
        else:
            from fabula.workspace.read_only import is_read_only, read_view_to_copy

            if not is_read_only(start):
                raise FabulaError(
                    Code.PROJECT_NOT_FOUND, message("There is nothing at {path}. Nothing was made.", path=start)
                )
            with show_progress(message("Reading {title}", title=start)):
                project = workspace.copy_project(read_view_to_copy(start), title=title)
        use_project_language(project.view.project.language)
        say(
            "{title} is project {number}.\nLook at it with: fabula assemble {name}",
            title=title,
            number=number_project(workspace, project.id),
            name=name_project(workspace, project.id),
        )


@commands.command("projects")
def list_projects(with_ids: IDS = False, store: STORE = None, as_json: JSON = False) -> None:
    """List all projects of the store, the one changed last first.

    Example: fabula projects
    """
    with open_workspace(store) as workspace:
        found = workspace.describe_projects()
    columns: list[Column[ProjectInfo]] = [
        Column(message("title"), lambda one: one.title, style="bold"),
        Column(message("changed"), lambda one: format_time(one.changed)),
        Column(message("language"), lambda one: name_value(one.language)),
        Column(message("documents"), lambda one: f"{one.documents:,}", right=True),
        Column(message("characters"), lambda one: f"{one.characters:,}", right=True),
    ]
    empty = message('No projects yet. Make one: fabula new "A title", or fabula import a manuscript.')
    numbers: dict[str, object] = {one.id: one.number for one in found}
    print_list(found, lambda one: one, columns, empty, as_json, with_ids=with_ids, numbers=numbers)


@commands.command("import")
def import_manuscript(
    path: Annotated[Path, Argument(help="Markdown, text, EPUB, DOCX, Scrivener, NovelCrafter; file or folder.")],
    into: Annotated[str | None, Option("--into", help="Add to this project instead of making one.")] = None,
    title: Annotated[str, Option(help="The new project's title.")] = "",
    language: LANGUAGE = "",
    update: Annotated[
        bool, Option("--update", help="With --into: change the chapters that differ, and add none twice.")
    ] = False,
    preview: Annotated[bool, Option("--preview", help="With --update: only show what would change.")] = False,
    remove_missing: Annotated[
        bool, Option("--remove-missing", help="With --update: remove chapters that the file does not have.")
    ] = False,
    store: STORE = None,
) -> None:
    """Import a manuscript, or update a project from a newer version of it.

    Example: fabula import novel.epub
    """
    if (preview or remove_missing) and not update:
        raise invalid_request("--preview and --remove-missing go with --update. Nothing was changed.")
    if update:
        if into is None:
            raise invalid_request("Say which project to update: --into PROJECT. Nothing was changed.")
        _update_manuscript(path, into, preview=preview, remove_missing=remove_missing, store=store)
        return
    with open_workspace(store) as workspace:
        if into is not None:
            find_project(workspace, into)  # from now on, its language
        elif language in list_languages():
            use_project_language(language)
        is_known = into is not None or language in list_languages() or has_chosen_language()
        shown = path.resolve().name  # also of the folder that is called `.`
        with show_progress(message("Importing {file}", file=shown) if is_known else shown) as progress:
            report = workspace.import_manuscript(path, into=into, title=title, language=language, progress=progress)
        imported = find_project(workspace, report.project_id).view.project
        name = name_project(workspace, report.project_id)
    counts = [
        plural(report.documents, "{count} document", "{count} documents"),
        plural(report.characters, "{count:,} character", "{count:,} characters"),
    ]
    if report.entries:
        counts.append(plural(report.entries, "{count} entry", "{count} entries"))
    say("Imported {counts} into {title}.", counts=join_names(counts), title=imported.title)
    print_warnings(report.warnings)
    if into is None and name != quote_name(imported.title):
        warn(
            "Another project is called {title} too. This one is number {number}. To update a project from a newer "
            "file of it: fabula import FILE --into PROJECT --update",
            title=imported.title,
            number=name,
        )
    _print_next_steps(name)


def _print_next_steps(name: str) -> None:
    """Print what can be done with a new manuscript, as commands that can be copied."""
    steps = (
        (f"fabula extract {name}", message("find the people and places in it")),
        (f"fabula synopsis list {name}", message("see each chapter in short")),
        (f'fabula search {name} "{translate("some words")}"', message("find a passage")),
        (f"fabula write {name}", message("let a model write on")),
    )
    say("What to do next:")
    columns: list[Column[tuple[str, Sentence]]] = [
        Column(message("command"), lambda step: step[0], style="bold"),
        Column(message("what it does"), lambda step: step[1], wraps=True),
    ]
    print_table(steps, columns)


_UPDATE_WORDS = {
    "new": message("new"),
    "changed": message("changed"),
    "moved": message("moved"),
    "missing": message("not in the file"),
}


def _update_manuscript(path: Path, into: str, *, preview: bool, remove_missing: bool, store: str | None) -> None:
    """Update a project, and print what changed."""
    with open_workspace(store) as workspace:
        title = find_project(workspace, into).view.project.title
        with show_progress(message("Importing {file}", file=path.name)):
            report = workspace.update_manuscript(path, into, remove_missing=remove_missing, preview=preview)
    for one in report.update.updates:
        name = f"{one.old_title} → {one.title}" if one.old_title else one.title
        lengths = f"{one.old_length:,} → {one.new_length:,}" if one.old_length != one.new_length else ""
        print_line(f"  {render(_UPDATE_WORDS[one.kind]):<16} {name}  {lengths}")
    unchanged = plural(report.update.unchanged, "{count} chapter is unchanged.", "{count} chapters are unchanged.")
    say(unchanged)
    if report.entries:
        say(plural(report.entries, "{count} new codex entry.", "{count} new codex entries."))
    has_missing = any(one.kind == "missing" for one in report.update.updates)
    if preview:
        say("Nothing was changed in {title} yet.", title=title)
    elif has_missing and not remove_missing:
        say("What the file does not have stays in {title}. Remove it with --remove-missing.", title=title)
    print_warnings(report.warnings)


@commands.command("export")
def export_manuscript(
    project: PROJECT,
    path: Annotated[Path, Argument(help="Where to: .md, .txt, .epub or .docx.")],
    overwrite: OVERWRITE = False,
    store: STORE = None,
) -> None:
    """Write a manuscript to a file.

    Example: fabula export "The Lantern Coast" coast.epub
    """
    with open_workspace(store) as workspace:
        opened = find_project(workspace, project)
        with show_progress(message("Writing {file}", file=path.name)):
            opened.export(path, overwrite=overwrite)
        title = opened.view.project.title
    say("{title} is in {path}.", title=title, path=path)


@commands.command()
def save(
    project: PROJECT,
    path: Annotated[Path | None, Argument(help="The file; by default the title, here.")] = None,
    without_person: WITHOUT_PERSON = False,
    overwrite: OVERWRITE = False,
    store: STORE = None,
) -> None:
    """Save a project as one file, with your own profile, memories and settings, and with what its series shares.

    Example: fabula save "The Lantern Coast" coast.fabula
    """
    with open_workspace(store) as workspace:
        opened = find_project(workspace, project)
        with show_progress(message("Saving {title}", title=project)) as progress:
            saved = opened.save(path, with_person=not without_person, overwrite=overwrite, progress=progress)
        title = opened.view.project.title
    size = saved.path.stat().st_size
    say(
        "{title} is saved in {path} ({rows}, {size:,} bytes).",
        title=title,
        path=saved.path,
        rows=plural(saved.rows, "{count:,} row", "{count:,} rows"),
        size=size,
    )
    if saved.series:
        say(
            "The codex of its series {series} is in it ({count}). What other books of the series add is not.",
            series=saved.series,
            count=plural(saved.shared_entries, "{count} entry", "{count} entries"),
        )


@commands.command()
def load(
    path: Annotated[Path, Argument(help="A .fabula file.")],
    replace: Annotated[str | None, Option("--replace", help="Replace this project, after a backup.")] = None,
    join_series: Annotated[
        str | None, Option("--join-series", help="Let the book join this series; otherwise it brings its own.")
    ] = None,
    with_person: Annotated[
        bool, Option("--with-person", help="Also add the profile, memories and settings in it to your own.")
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what it would bring.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show what a save would bring, then load it: the project, whole or not at all, and nothing of a person.

    Example: fabula load coast.fabula
    """
    from fabula.workspace.schemas.saves import LoadChoices, describe_load

    with open_workspace(store) as workspace:
        with show_progress(message("Reading {title}", title=path.name)) as progress:
            found = workspace.inspect_save(path, language=current_language(), progress=progress)
        use_project_language(found.language)
        replaced = "" if replace is None else find_project(workspace, replace).view.project.title
        if as_json and dry_run:
            print_json(found)
        elif not as_json or not yes:  # whoever is asked has seen it
            with redirect_stdout(sys.stderr if as_json else sys.stdout):
                _print_inspection(found, with_person=with_person, replaced=replaced, series=join_series or "")
        if dry_run:
            if not as_json:
                say("Nothing was loaded.")
            return
        if not yes and not sys.stdin.isatty():
            raise invalid_request("Nobody can be asked here. Add --yes to load it, or --dry-run. Nothing was changed.")
        if not yes and not typer.confirm(translate("Load it?"), err=as_json):
            say("Nothing was loaded.")
            return
        choices = LoadChoices(
            replace=replace, join_series=join_series, with_person=with_person, beside=True, checksum=found.checksum
        )
        with show_progress(message("Loading {file}", file=path.name)) as progress:
            loaded = workspace.load_save(path, choices, progress=progress)
        title = find_project(workspace, loaded.project_id).view.project.title
        number, name = number_project(workspace, loaded.project_id), name_project(workspace, loaded.project_id)
    if as_json:
        print_json(describe_load(loaded, title, current_language()))
        return
    say("{file} is loaded as project {number}, {title}.", file=path.name, number=number, title=title)
    if loaded.backup is not None:
        say("What was there before is in {path}.", path=loaded.backup)
    if loaded.series is not None:
        _print_series(loaded.series, name)
    print_warnings(loaded.warnings)


_SHOWN_NAMES = 12


def _print_inspection(found: SaveInspection, *, with_person: bool, replaced: str = "", series: str = "") -> None:
    """Say what a save would bring and change, and what of it stays out."""
    rows = found.rows
    say("{file} holds {title}, made {time}:", file=found.file, title=found.title, time=format_time(found.made))
    counts = [
        plural(rows.get("documents", 0), "{count:,} document", "{count:,} documents"),
        plural(rows.get("codex_entries", 0), "{count:,} entry", "{count:,} entries"),
        plural(rows.get("constraints", 0), "{count:,} rule", "{count:,} rules"),
        plural(rows.get("memories", 0), "{count:,} memory of the project", "{count:,} memories of the project"),
        plural(rows.get("conversations", 0), "{count:,} conversation", "{count:,} conversations"),
        plural(len(found.lorebooks), "{count:,} lorebook", "{count:,} lorebooks"),
        plural(len(found.presets), "{count:,} preset", "{count:,} presets"),
        plural(len(found.skills), "{count:,} skill", "{count:,} skills"),
    ]
    for count in counts:
        print_line(f"  {render(count)}")
    named = (
        (message("Lorebooks: {names}."), found.lorebooks),
        (message("Presets: {names}."), found.presets),
        (message("Skills with their own instructions: {names}."), found.skills),
        (message("Settings of the project: {names}."), [f"{one.name} = {one.value!r}"[:80] for one in found.settings]),
        (message("Settings that stay out, because no file sets them: {names}."), found.left_out),
    )
    for sentence, names in named:
        if names:
            shown = [*names[:_SHOWN_NAMES], *(["…"] if len(names) > _SHOWN_NAMES else [])]
            say(Sentence(sentence.template, {"names": join_names(shown)}))
    if replaced:
        say("It takes the place of your project {title}, of which a backup is made first.", title=replaced)
    elif found.same_title:
        say("There is a project {title} already. Without --replace this one stands beside it.", title=found.title)
    if series:
        say("It joins your series {series}, and adds the entries that the series lacks.", series=series)
    elif found.series:
        say(
            "It belongs to the series {series}, which comes with {count} as a series of its own unless you join one.",
            series=found.series,
            count=plural(found.shared_entries, "{count} entry", "{count} entries"),
        )
    person = found.person
    if person.profile_characters or person.memories or person.settings:
        contents = join_names(
            [
                plural(person.profile_characters, "a profile of {count} character", "a profile of {count} characters"),
                plural(person.memories, "{count} memory", "{count} memories"),
                plural(len(person.settings), "{count} setting", "{count} settings"),
            ]
        )
        if with_person:
            say("It adds to what is yours in all projects: {contents}.", contents=contents)
            for one in person.settings:
                print_line(f"  {one.name} = {one.value!r}"[:100])
        else:
            say("It also holds what belongs to a person, which stays out: {contents}.", contents=contents)
    print_warnings(found.warnings)


def _print_series(series: LoadedSeries, book: str) -> None:
    """Say which series a loaded book belongs to, and what became of the entries it shares."""
    added = plural(series.added_entries, "{count} entry", "{count} entries")
    present = plural(series.present_entries, "{count} entry", "{count} entries")
    if series.is_new:
        say(
            "It belongs to the new series {series}, with the codex they share: {added}.",
            series=series.title,
            added=added,
        )
    elif series.has_joined:
        say(
            "It has joined {series}. New in the codex of the series: {added}. Unchanged there: {present}.",
            series=series.title,
            added=added,
            present=present,
        )
    else:
        say("It stays in the series {series}, whose codex was not changed.", series=series.title)
    if series.similar:
        say(
            "There was a series {series} here already, which was not changed. To share its codex instead: {command}",
            series=series.similar,
            command=f"fabula series join {book} {quote_name(series.similar)}",
        )


@commands.command()
def verify(path: Annotated[Path, Argument(help="A .fabula file.")], as_json: JSON = False) -> None:
    """Check whether a save would load; nothing is changed.

    Example: fabula verify coast.fabula
    """
    from fabula.workspace.health import verify_save
    from fabula.workspace.schemas.projects import describe_verification

    with show_progress(message("Reading {title}", title=path.name)) as progress:
        report = verify_save(path, progress=progress)
    if as_json:
        print_json(describe_verification(report, current_language()))
    elif report.manifest is not None and report.is_loadable:
        about = report.manifest
        say(
            "{file} is whole: {title}, format {version}, made {time}.",
            file=path.name,
            title=about.project.title,
            version=about.version,
            time=format_time(about.created_at),
        )
        counts = list(report.area_counts.items())
        columns: list[Column[tuple[str, int]]] = [
            Column(message("area"), lambda one: name_value(one[0])),
            Column(message("rows"), lambda one: f"{one[1]:,}", right=True),
        ]
        if counts:
            print_table(counts, columns)
        print_warnings(report.warnings)
    if report.error is not None:
        raise report.error


@commands.command()
def doctor(store: STORE = None, as_json: JSON = False) -> None:
    """Check that the store is whole, up to date and copied.

    Example: fabula doctor
    """
    from fabula.workspace.health import examine_store
    from fabula.workspace.schemas.projects import describe_health

    with show_progress(message("Checking the store")) as progress:
        location, findings = examine_store(store, progress=progress)
    if as_json:
        print_json(describe_health(location, findings, current_language()))
    else:
        say("The store at {location}", location=location)
        columns: list[Column[HealthFinding]] = [
            Column("", lambda one: "✗" if one.is_failure else "!" if one.is_warning else "✓"),
            Column(message("check"), lambda one: name_value(one.name), style="bold"),
            Column(message("finding"), lambda one: one.sentence, wraps=True),
        ]
        print_table(findings, columns)
    if any(found.is_failure for found in findings):
        raise typer.Exit(1)
