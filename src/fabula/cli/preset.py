"""`fabula preset`: messages of one's own in a prompt, and a picture of where each of them lands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project, read_text
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import (
    current_language,
    invalid_request,
    language_of_texts,
    print_json,
    print_line,
    quote_name,
    say,
    translate,
)
from fabula.cli.tables import Column, print_list, print_table
from fabula.cli.value_names import name_value
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.presets.layout import LayoutRow
    from fabula.workspace.schemas.presets import LayoutInfo, PresetInfo

NAME = Annotated[str, Argument(help="A preset of the project, by its id or name.")]
RECIPE = Annotated[str, Option(help="On whose layout it is shown: novel, chat, character-chat.")]
COLOURS = {"identity": "grey58", "anchor": "blue", "history": "green", "message": "bold", "off": "grey42"}

commands = CommandGroup("preset", help="Messages of your own, by depth and anchor.")


@commands.command("list")
def list_presets(project: PROJECT, with_ids: IDS = False, store: STORE = None, as_json: JSON = False) -> None:
    """List the presets of a project; ● marks the active one.

    Example: fabula preset list "The Lantern Coast"
    """
    from fabula.workspace.schemas.presets import describe_preset

    with open_project(project, store) as opened:
        found = [describe_preset(stored) for stored in opened.presets.list_presets()]
    columns: list[Column[PresetInfo]] = [
        Column(message("active"), lambda one: "●" if one.active else "", style="green"),
        Column(message("title"), lambda one: one.title, style="bold"),
        Column(message("nodes"), lambda one: one.nodes, right=True),
    ]
    empty = message("No presets yet. Store one: fabula preset set {project} NAME FILE", project=quote_name(project))
    print_list(found, lambda one: one, columns, empty, as_json, with_ids=with_ids)


@commands.command()
def show(
    project: PROJECT, name: NAME = "", recipe: RECIPE = "novel", store: STORE = None, as_json: JSON = False
) -> None:
    """Show where each message lands, from the top of the prompt to its end; without a name, of the active preset.

    Example: fabula preset show "The Lantern Coast" "My style" --recipe chat
    """
    from fabula.workspace.schemas.presets import describe_layout

    with open_project(project, store) as opened:
        laid_out = opened.presets.lay_out(name, recipe=recipe, reader_language=language_of_texts())
        layout = describe_layout(laid_out, current_language())
    if as_json:
        print_json(layout)
    else:
        _draw(layout)


@commands.command()
def get(project: PROJECT, name: NAME = "", store: STORE = None) -> None:
    """Print the nodes of a preset as JSON, to edit and store again; without a name, those of the active one.

    Example: fabula preset get "The Lantern Coast" "My style" > style.json
    """
    from fabula.workspace.schemas.presets import describe_nodes

    with open_project(project, store) as opened:
        print_json(describe_nodes(opened.presets.find(name)))


@commands.command("set")
def write(
    project: PROJECT,
    name: Annotated[str, Argument(help="What it is called; one of that id or name is replaced.")],
    path: Annotated[str, Argument(help="A JSON file with its nodes, or - for stdin.")],
    active: Annotated[bool, Option("--active", help="Use it from now on.")] = False,
    store: STORE = None,
) -> None:
    """Store a preset.

    Example: fabula preset set "The Lantern Coast" "My style" style.json --active
    """
    data = read_text(path)
    with open_project(project, store) as opened:
        stored = opened.presets.write(name, data, active=active)
    say(
        "{title} is stored, and active." if active else "{title} is stored.",
        title=stored.title,
    )


@commands.command()
def use(
    project: PROJECT,
    name: Annotated[str, Argument(help="Its id or name; - for none.")],
    store: STORE = None,
) -> None:
    """Make a preset the active one, or none.

    Example: fabula preset use "The Lantern Coast" "My style"
    """
    with open_project(project, store) as opened:
        chosen = opened.presets.activate(None if name == "-" else name)
    if chosen is None:
        say("No preset is active.")
    else:
        say("{title} is active.", title=chosen.title)


@commands.command()
def remove(project: PROJECT, name: NAME, store: STORE = None) -> None:
    """Remove a preset.

    Example: fabula preset remove "The Lantern Coast" "My style"
    """
    with open_project(project, store) as opened:
        removed = opened.presets.remove(name)
    say("{name} is gone.", name=removed.title)


@commands.command()
def identity(
    project: PROJECT,
    text: Annotated[str | None, Argument(help="Who the model is, in a few sentences; - reads standard input.")] = None,
    none: Annotated[bool, Option("--none", help="Begin prompts without one.")] = False,
    built_in: Annotated[bool, Option("--built-in", help="Use the one that comes with Fabula again.")] = False,
    store: STORE = None,
) -> None:
    """Show or set the text that every prompt of a project begins with: who the model is.

    Example: fabula preset identity "The Lantern Coast" "You are the keeper of Harrow Light."
    """
    if (text is not None) + none + built_in > 1:
        raise invalid_request("Give a text, --none or --built-in: only one of them. Nothing was changed.")
    if text is not None and not text.strip():
        raise invalid_request("The text is empty. To begin prompts without one: --none. Nothing was changed.")
    with open_project(project, store) as opened:
        if text is None and not none and not built_in:
            shown = opened.presets.read_identity()
        else:
            new = None if built_in else "" if text is None else read_text("-") if text == "-" else text
            shown = opened.presets.write_identity(new)
    print_line(shown or message("Prompts begin without an identity."))


@commands.command()
def anchors(project: PROJECT, name: NAME = "", store: STORE = None, as_json: JSON = False) -> None:
    """List every anchor that a message may name: the built-in ones, then the preset's own.

    Example: fabula preset anchors "The Lantern Coast"
    """
    with open_project(project, store) as opened:
        found = opened.presets.list_anchors(name)
    if as_json:
        print_json(found)
    else:
        print_line("\n".join(found))


def _draw(layout: LayoutInfo) -> None:
    signs = {"identity": "┌", "anchor": "├", "history": "│", "message": "▸", "off": "✗"}
    columns: list[Column[LayoutRow]] = [
        Column("", lambda row: f"{signs[row.kind]} {row.name}"),
        Column("", lambda row: name_value(row.role), style="grey58"),
        Column("", lambda row: "" if row.depth is None else message("depth {depth}", depth=row.depth), style="grey58"),
        Column("", _describe_row, wraps=True),
    ]
    print_line(layout.title)
    print_table(layout.rows, columns, lambda row: COLOURS[row.kind] + (" strike" if row.kind == "off" else ""))


def _describe_row(row: LayoutRow) -> str:
    condition = translate("if: {condition}", condition=row.condition) if row.condition else ""
    return "  ".join(part for part in (row.excerpt, condition, row.note) if part)
