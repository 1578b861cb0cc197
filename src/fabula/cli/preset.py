"""`fabula preset`: messages of one's own in a prompt, and a picture of where each of them lands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import print_json, writing
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.context.recipes import Recipe
    from fabula.presets.layout import Row

NAME = Annotated[str, typer.Argument(help="A preset of the project, by its id or name.")]
RECIPE = Annotated[str, typer.Option(help="On whose layout it is shown: novel, chat, character-chat.")]
COLOURS = {"identity": "grey58", "anchor": "blue", "history": "green", "message": "bold", "off": "grey42"}

preset = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Messages of your own, by depth and anchor.")


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    for name, command in (
        ("list", list_presets),
        ("show", show),
        ("get", get),
        ("set", put),
        ("use", use),
        ("remove", remove),
        ("anchors", anchors),
    ):
        preset.command(name=name)(command)
    app.add_typer(preset, name="preset")


def list_presets(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """The presets of a project."""
    from fabula.manuscript import projects
    from fabula.presets import edits as service

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id) as reading:
        every = service.listed(reading)
    if as_json:
        print_json(
            [
                {
                    "id": kept.preset.id,
                    "title": kept.preset.title,
                    "active": kept.active,
                    "nodes": len(kept.preset.nodes),
                    "version": kept.version,
                }
                for kept in every
            ]
        )
        return
    if not every:
        print("No presets yet. Keep one: fabula preset set PROJECT NAME FILE.")
    for kept in every:
        sign = "●" if kept.active else " "
        print(f"{sign} {kept.preset.id:<24} {len(kept.preset.nodes):>4} nodes  {kept.preset.title}")


def show(
    project: PROJECT, name: NAME = "", recipe: RECIPE = "novel", store: STORE = None, as_json: JSON = False
) -> None:
    """Where each message lands, from the top of the prompt to its end; without a name, the active preset."""
    from fabula.context.recipes import Preset
    from fabula.manuscript import projects
    from fabula.memory.snapshot import load_profile
    from fabula.presets import edits as service
    from fabula.presets import snapshot
    from fabula.presets.layout import picture
    from fabula.store.store import OWNER

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id, user=OWNER) as reading:
        found = service.find(reading, name).preset if name else snapshot.load(reading)
        about = load_profile(reading)
    layout = _recipe(recipe)
    rows = picture(found or Preset(nodes=()), layout.preset, about)
    title = found.title if found is not None else f"No preset is active: the layout of {layout.name}"
    if as_json:
        import msgspec

        print_json({"title": title, "recipe": layout.name, "rows": msgspec.to_builtins(rows)})
    else:
        _draw(title, rows)


def get(project: PROJECT, name: NAME = "", store: STORE = None) -> None:
    """The nodes of a preset as JSON, to be edited and kept again; without a name, those of the active one."""
    import msgspec

    from fabula.context.recipes import Preset
    from fabula.manuscript import projects
    from fabula.presets import edits as service
    from fabula.presets import snapshot

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id) as reading:
        found = service.find(reading, name).preset if name else snapshot.load(reading)
    print_json({"nodes": msgspec.to_builtins((found or Preset(nodes=())).nodes)})


def put(
    project: PROJECT,
    name: Annotated[str, typer.Argument(help="What it is called; one of that id or name is replaced.")],
    path: Annotated[str, typer.Argument(help="A JSON file with its nodes, or - for stdin.")],
    active: Annotated[bool, typer.Option("--active", help="Use it from now on.")] = False,
    store: STORE = None,
) -> None:
    """Keep a preset."""
    from msgspec.structs import replace

    from fabula.presets import edits as service

    given = service.read(_read(path))
    with writing(project, store) as tx:
        same = [kept.preset for kept in service.listed(tx) if name in (kept.preset.id, kept.preset.title)]
        ident = same[0].id if len(same) == 1 else given.id
        title = same[0].title if len(same) == 1 and same[0].id == name else name
        ident = service.put(tx, title, replace(given, id=ident), active=active)
    print(f"{title} is preset {ident}" + (", and active." if active else "."))


def use(
    project: PROJECT,
    name: Annotated[str, typer.Argument(help="Its id or name; - for none.")],
    store: STORE = None,
) -> None:
    """Make a preset the active one, or none."""
    from fabula.presets import edits as service

    with writing(project, store) as tx:
        chosen = None if name == "-" else service.find(tx, name).preset
        service.activate(tx, chosen.id if chosen is not None else None)
    print(f"{chosen.title} is active." if chosen is not None else "No preset is active.")


def remove(project: PROJECT, name: NAME, store: STORE = None) -> None:
    """Take a preset away."""
    from fabula.presets import edits as service

    with writing(project, store) as tx:
        gone = service.find(tx, name).preset
        service.remove(tx, gone.id)
    print(f"{gone.title} is gone.")


def anchors(project: PROJECT, name: NAME = "", store: STORE = None, as_json: JSON = False) -> None:
    """Every anchor a message may name: the built-in ones, then the preset's own."""
    from fabula.context.recipes import Preset, available_anchors
    from fabula.manuscript import projects
    from fabula.presets import edits as service
    from fabula.presets import snapshot

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id) as reading:
        found = service.find(reading, name).preset if name else snapshot.load(reading)
    every = available_anchors(found or Preset(nodes=()))
    if as_json:
        print_json(list(every))
    else:
        print("\n".join(every))


def _recipe(name: str) -> Recipe:
    from fabula.context.recipes import RECIPES

    known = RECIPES.get(name)
    if known is None:
        raise FabulaError(Code.RECIPE_UNKNOWN, f"There is no recipe called {name!r}. There are: {', '.join(RECIPES)}.")
    return known


def _draw(title: str, rows: Sequence[Row]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(title, style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    for width in (1, 14, 9, 8):
        table.add_column(min_width=width)
    table.add_column(ratio=1)
    signs = {"identity": "┌", "anchor": "├", "history": "│", "message": "▸", "off": "✗"}
    for row in rows:
        where = "" if row.depth is None else f"depth {row.depth}"
        about = [part for part in (row.words, row.condition and f"if: {row.condition}", row.note) if part]
        style = COLOURS[row.kind] + (" strike" if row.kind == "off" else "")
        table.add_row(
            signs[row.kind],
            Text(row.name, style=style),
            Text(row.role, style="grey58"),
            Text(where, style="grey58"),
            Text("\n".join(about)),
        )
    console.print(table)


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise FabulaError(Code.PRESET_INVALID, f"{name} could not be read ({error.strerror}).") from error
