"""`fabula setting`: list, get, set and reset settings of a project, or your own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_workspace
from fabula.cli.options import JSON, STORE
from fabula.cli.output import (
    current_language,
    invalid_request,
    print_json,
    print_line,
    render,
    say,
    use_project_language,
)
from fabula.cli.value_names import name_value
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.settings.registry import SettingScope
    from fabula.settings.values import SettingReport
    from fabula.workspace.settings import SettingVerbs
    from fabula.workspace.workspace import Workspace

USER = Annotated[bool, Option("--user", help="Your own setting, for all your books.")]
NAMED = Annotated[list[str], Argument(metavar="[PROJECT] NAME", help="A project, and the setting's name.")]
VALUED = Annotated[
    list[str],
    Argument(metavar="[PROJECT] NAME VALUE", help="A project, the setting's name, and a word or any JSON value."),
]
_WIDTH = 34

commands = CommandGroup("setting", help="How a project, or you, want things done.")


@commands.command("list")
def list_command(
    project: Annotated[str | None, Argument(help="A project of the store; your own settings if left out.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show every setting: its value, where that comes from, and what it does.

    Example: fabula setting list "The Harbour"
    """
    from fabula.settings.registry import GROUPS

    with open_workspace(store) as workspace:
        settings = _open_settings(workspace, project)
        found = settings.list_settings()
    if as_json:
        print_json(found)
        return
    for group, title in GROUPS.items():
        say(title)
        for report in found.settings:
            if report.group == group:
                _print_line(report)
                print_line(f"      {render(report.sentence)}")
    for scope, names in found.unknown.items():
        for name in names:
            say(
                "! {name} ({scope}) is no setting and has no effect; `fabula setting reset` removes it.",
                name=name,
                scope=name_value(scope),
            )


@commands.command("get")
def get_command(words: NAMED, store: STORE = None, as_json: JSON = False) -> None:
    """Show one setting: its value, where that comes from, and what it does.

    Example: fabula setting get "The Harbour" search.embedding
    """
    project, (name,) = _split(words, 1)
    with open_workspace(store) as workspace:
        report = _open_settings(workspace, project).get(name)
    if as_json:
        print_json(report)
        return
    _print_line(report)
    print_line(f"      {render(report.sentence)}\n      {render(report.accepts)}")


# An unknown option is taken as a word, so that a negative number can be a value.
@commands.command("set", context_settings={"ignore_unknown_options": True})
def set_command(words: VALUED, user: USER = False, store: STORE = None) -> None:
    """Set something for a project, or with --user for you; it takes effect at once.

    Example: fabula setting set "The Harbour" lateJoiners true
    """
    project, (name, text) = _split(words, 2)
    scope = _choose_scope(project, name, user)
    with open_workspace(store) as workspace:
        _open_settings(workspace, project).set_text(name, text, scope=scope)
    say("{name} is set for you." if user else "{name} is set for this project.", name=name)


@commands.command("reset")
@commands.command("unset", hidden=True)
def reset_command(words: NAMED, user: USER = False, store: STORE = None) -> None:
    """Return a setting to its default, for a project or with --user for you.

    Example: fabula setting reset "The Harbour" lateJoiners
    """
    project, (name,) = _split(words, 1)
    scope = _choose_scope(project, name, user)
    with open_workspace(store) as workspace:
        _open_settings(workspace, project).reset(name, scope=scope)
    say(
        "{name} is at its default again for you." if user else "{name} is at its default again for this project.",
        name=name,
    )


def _open_settings(workspace: Workspace, project: str | None) -> SettingVerbs:
    settings = workspace.settings(project)
    if project is not None:
        use_project_language(settings.language)
    settings.language = current_language()
    return settings


def _split(words: list[str], count: int) -> tuple[str | None, list[str]]:
    """The project, None if it was left out, and the words after it."""
    if not count <= len(words) <= count + 1:
        raise invalid_request("Name a project, a setting and, to set it, one value (in quotes).")
    return (words[0] if len(words) > count else None), words[-count:]


def _choose_scope(project: str | None, name: str, user: bool) -> SettingScope:
    if user:
        return "person"
    if project is None:
        raise invalid_request(
            "Name the project before the setting, or say --user to set {name} for yourself. Nothing was changed.",
            name=name,
        )
    return "project"


def _print_line(report: SettingReport) -> None:
    """The name, the value and where it comes from, and what is stored but cannot be used."""
    value = render(report.without_value) if report.value is None else _show(report.value)
    origin = name_value(report.origin)
    if report.origin != "default" and report.default is not None:
        origin = message("{origin}; default {value}", origin=origin, value=_show(report.default))
    print_line(f"  {report.name:<{_WIDTH}} {value}  ({render(origin)})")
    for scope, stored in report.unusable.items():
        say(
            "    ! {value} is stored for the {scope} and has no effect: {name} is {accepts}.",
            value=_show(stored),
            scope=name_value(scope),
            name=report.name,
            accepts=report.accepts,
        )


def _show(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
