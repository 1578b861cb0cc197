"""Commands about projects: make, list, import, export, save, load, and check the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabula.cli.opening import open_workspace, print_json, show_progress
from fabula.core.errors import Code, FabulaError

STORE = Annotated[
    str | None,
    typer.Option("--store", envvar="FABULA_STORE", help="A data folder, or the address of a PostgreSQL server."),
]
PROJECT = Annotated[str, typer.Argument(help="A project of the store, by its id or title.")]
LANGUAGE = Annotated[str, typer.Option("--language", "-l", help="en or zh; found out from the text if left out.")]
JSON = Annotated[bool, typer.Option("--json", help="Everything as JSON.")]
WITHOUT_PERSON = Annotated[
    bool, typer.Option("--without-person", help="Leave out the person's own profile, memories and settings.")
]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command(name="new")(create_project)
    app.command(name="projects")(list_projects)
    app.command(name="import")(import_manuscript)
    app.command(name="export")(export_manuscript)
    app.command()(save)
    app.command()(load)
    app.command()(verify)
    app.command()(doctor)


def create_project(
    title: Annotated[str, typer.Argument(help="What it is called.")],
    start: Annotated[
        str | None, typer.Option("--from", help="Begin with a project folder, a text file or sample:NAME.")
    ] = None,
    language: LANGUAGE = "",
    store: STORE = None,
) -> None:
    """Make a project in the store.

    Example: fabula new "The Lantern Coast" --from sample:lantern_coast
    """
    with open_workspace(store) as workspace:
        if start is None:
            project = workspace.create_project(title, language=language)
        else:
            from fabula.workspace.read_only import is_read_only, read_view

            if not is_read_only(start):
                raise FabulaError(Code.PROJECT_NOT_FOUND, f"There is nothing at {start}. Nothing was made.")
            with show_progress(f"Reading {start}"):
                project = workspace.copy_project(read_view(start), title=title)
        print(f"{title} is project {project.id}.\nLook at it with: fabula assemble {project.id}")


def list_projects(store: STORE = None, as_json: JSON = False) -> None:
    """List all projects of the store, the one changed last first.

    Example: fabula projects
    """
    with open_workspace(store) as workspace:
        found = workspace.describe_projects()
    if as_json:
        print_json(found)
        return
    if not found:
        print('No projects yet. Make one: fabula new "A title", or fabula import a manuscript.')
    for one in found:
        changed = one.changed[:16].replace("T", " ")
        print(f"{one.id:<24} {changed}  {one.language}  {one.characters:>12,}  {one.title}")


def import_manuscript(
    path: Annotated[Path, typer.Argument(help="Markdown, text, EPUB, DOCX, Scrivener, NovelCrafter; file or folder.")],
    into: Annotated[str | None, typer.Option("--into", help="Add to this project instead of making one.")] = None,
    title: Annotated[str, typer.Option(help="The new project's title.")] = "",
    language: LANGUAGE = "",
    store: STORE = None,
) -> None:
    """Import a manuscript.

    Example: fabula import novel.epub
    """
    with open_workspace(store) as workspace, show_progress(f"Importing {path.name}") as progress:
        report = workspace.import_manuscript(path, into=into, title=title, language=language, progress=progress)
    entries = f", {report.entries} entries" if report.entries else ""
    print(
        f"{report.documents} documents, {report.characters:,} characters{entries} are in project {report.project_id}."
    )
    for warning in report.warnings:
        print(f"- {warning}")


def export_manuscript(
    project: PROJECT,
    path: Annotated[Path, typer.Argument(help="Where to: .md, .txt, .epub or .docx.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    store: STORE = None,
) -> None:
    """Write a manuscript to a file.

    Example: fabula export "The Lantern Coast" coast.epub
    """
    with open_workspace(store) as workspace, show_progress(f"Writing {path.name}"):
        opened = workspace.project(project)
        opened.export(path, overwrite=overwrite)
        title = opened.view.project.title
    print(f"{title} is in {path}.")


def save(
    project: PROJECT,
    path: Annotated[Path | None, typer.Argument(help="The file; by default the title, here.")] = None,
    without_person: WITHOUT_PERSON = False,
    store: STORE = None,
) -> None:
    """Save a project as one file, with your own profile, memories and settings.

    Example: fabula save "The Lantern Coast" coast.fabula
    """
    with open_workspace(store) as workspace, show_progress(f"Saving {project}") as progress:
        opened = workspace.project(project)
        saved = opened.save(path, with_person=not without_person, progress=progress)
        title = opened.view.project.title
    print(f"{title} is saved in {saved.path} ({saved.rows} rows, {saved.path.stat().st_size:,} bytes).")


def load(
    path: Annotated[Path, typer.Argument(help="A .fabula file.")],
    replace: Annotated[str | None, typer.Option("--replace", help="Replace this project, after a backup.")] = None,
    without_person: WITHOUT_PERSON = False,
    store: STORE = None,
) -> None:
    """Load a save, whole or not at all; your own profile, memories and settings are added to, never replaced.

    Example: fabula load coast.fabula
    """
    with open_workspace(store) as workspace, show_progress(f"Loading {path.name}") as progress:
        loaded = workspace.load_save(path, replace=replace, with_person=not without_person, progress=progress)
    print(f"{path.name} is loaded as project {loaded.project_id}.")
    if loaded.backup is not None:
        print(f"What was there before is in {loaded.backup}.")
    for warning in loaded.warnings:
        print(f"- {warning}")


def verify(path: Annotated[Path, typer.Argument(help="A .fabula file.")], as_json: JSON = False) -> None:
    """Check whether a save would load; nothing is changed.

    Example: fabula verify coast.fabula
    """
    from fabula.workspace.health import verify_save
    from fabula.workspace.schemas.projects import describe_verification

    with show_progress(f"Reading {path.name}") as progress:
        report = verify_save(path, progress=progress)
    if as_json:
        print_json(describe_verification(report))
    elif report.manifest is not None and report.is_loadable:
        about = report.manifest
        print(f"{path.name} is whole: {about.project.title}, format {about.version}, made {about.created_at[:16]}.")
        for table, rows in report.row_counts.items():
            if rows:
                print(f"  {table:<20} {rows:>9,}")
        for warning in report.warnings:
            print(f"- {warning}")
    if report.code is not None:
        raise FabulaError(report.code, report.reason)


def doctor(store: STORE = None, as_json: JSON = False) -> None:
    """Check that the store is whole, up to date and copied.

    Example: fabula doctor
    """
    from fabula.workspace.health import examine_store
    from fabula.workspace.schemas.projects import describe_health

    with show_progress("Checking the store") as progress:
        location, findings = examine_store(store, progress=progress)
    if as_json:
        print_json(describe_health(location, findings))
    else:
        print(f"The store at {location}")
        for found in findings:
            print(
                f"  {'✗' if found.is_failure else '!' if found.is_warning else '✓'} {found.name:<10} {found.sentence}"
            )
    if any(found.is_failure for found in findings):
        raise typer.Exit(1)
