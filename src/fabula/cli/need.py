"""`fabula need`: which earlier details the model asked for in scenes; list and forget."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import JSON, PROJECT, STORE
from fabula.cli.output import print_json, print_line, render, say
from fabula.core.messages import message, plural

NEED = Annotated[
    str | None, Argument(help="A question, by its number in the list or its first words; all if left out.")
]

commands = CommandGroup("need", help="Which earlier details the model asked for in your scenes.")


@commands.command("list")
def list_needs(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """List what the model asked for, scene by scene.

    Example: fabula need list "The Lantern Coast"
    """
    from fabula.workspace.schemas.needs import describe_needs

    with open_project(project, store) as opened:
        shown = describe_needs(opened.needs.list_needs(), opened.view)
    if as_json:
        print_json(shown)
        return
    if not shown.needs:
        say("The model has asked for nothing yet.")
        return
    eyes = {"author": message("for the author"), "reader": message("for the reader")}
    for need in shown.needs:
        who = eyes.get(need.perspective) or message("for {name}", name=need.character or "")
        print_line(f"{need.number:>3}  {need.question}  ({need.chapter}, {render(who)})")
    say("Forget one with: fabula need forget PROJECT NUMBER")


@commands.command()
def forget(project: PROJECT, need: NEED = None, store: STORE = None) -> None:
    """Forget a question of the model, or all of them.

    Example: fabula need forget "The Lantern Coast" 2
    """
    with open_project(project, store) as opened:
        count = opened.needs.forget(need)
    say(plural(count, "One question is forgotten.", "{count} questions are forgotten."))
