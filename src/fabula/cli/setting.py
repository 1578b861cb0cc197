"""`fabula setting`: list, get, set and reset settings of a project, or your own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.opening import open_workspace, print_json
from fabula.cli.projects import JSON, STORE
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.settings.registry import SettingScope
    from fabula.settings.values import SettingReport

USER = Annotated[bool, typer.Option("--user", help="Your own setting, for all your books.")]
NAMED = Annotated[list[str], typer.Argument(metavar="[PROJECT] NAME", help="A project, and the setting's name.")]
VALUED = Annotated[
    list[str],
    typer.Argument(metavar="[PROJECT] NAME VALUE", help="A project, the setting's name, and a word or any JSON value."),
]
_WIDTH = 34


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    setting = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="How a project, or you, want things done.")
    setting.command(name="list")(list_command)
    setting.command(name="get")(get_command)
    # An unknown option is taken as a word, so that a negative number can be a value.
    setting.command(name="set", context_settings={"ignore_unknown_options": True})(set_command)
    setting.command(name="reset")(reset_command)
    setting.command(name="unset", hidden=True)(reset_command)
    app.add_typer(setting, name="setting")


def list_command(
    project: Annotated[
        str | None, typer.Argument(help="A project of the store; your own settings if left out.")
    ] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show every setting: its value, where that comes from, and what it does.

    Example: fabula setting list "The Harbour"
    """
    from fabula.settings.registry import GROUPS

    with open_workspace(store) as workspace:
        settings = workspace.settings(project)
        found, language = settings.list_settings(), settings.language
    if as_json:
        print_json(found)
        return
    for group, title in GROUPS.items():
        print(title.render(language))
        for report in found.settings:
            if report.group == group:
                _print_line(report)
                print(f"      {report.sentence}")
    for scope, names in found.unknown.items():
        for name in names:
            print(f"! {name} ({scope}) is no setting and has no effect; `fabula setting reset` removes it.")


def get_command(words: NAMED, store: STORE = None, as_json: JSON = False) -> None:
    """Show one setting: its value, where that comes from, and what it does.

    Example: fabula setting get "The Harbour" search.embedding
    """
    project, (name,) = _split(words, 1)
    with open_workspace(store) as workspace:
        report = workspace.settings(project).get(name)
    if as_json:
        print_json(report)
        return
    _print_line(report)
    print(f"      {report.sentence}\n      {report.accepts}")


def set_command(words: VALUED, user: USER = False, store: STORE = None) -> None:
    """Set something for a project, or with --user for you; it takes effect at once.

    Example: fabula setting set "The Harbour" lateJoiners true
    """
    project, (name, text) = _split(words, 2)
    scope = _choose_scope(project, name, user)
    with open_workspace(store) as workspace:
        workspace.settings(project).set_text(name, text, scope=scope)
    print(f"{name} is set for {'you' if user else 'this project'}.")


def reset_command(words: NAMED, user: USER = False, store: STORE = None) -> None:
    """Return a setting to its default, for a project or with --user for you.

    Example: fabula setting reset "The Harbour" lateJoiners
    """
    project, (name,) = _split(words, 1)
    scope = _choose_scope(project, name, user)
    with open_workspace(store) as workspace:
        workspace.settings(project).reset(name, scope=scope)
    print(f"{name} is at its default again for {'you' if user else 'this project'}.")


def _split(words: list[str], count: int) -> tuple[str | None, list[str]]:
    """The project, None if it was left out, and the words after it."""
    if not count <= len(words) <= count + 1:
        raise FabulaError(Code.REQUEST_INVALID, "Name a project, a setting and, to set it, one value (in quotes).")
    return (words[0] if len(words) > count else None), words[-count:]


def _choose_scope(project: str | None, name: str, user: bool) -> SettingScope:
    if user:
        return "person"
    if project is None:
        raise FabulaError(
            Code.REQUEST_INVALID,
            f"Name the project before the setting, or say --user to set {name} for yourself. Nothing was changed.",
        )
    return "project"


def _print_line(report: SettingReport) -> None:
    """The name, the value and where it comes from, and what is stored but cannot be used."""
    value = report.without_value if report.value is None else _show(report.value)
    default = "" if report.origin == "default" or report.default is None else f"; default {_show(report.default)}"
    print(f"  {report.name:<{_WIDTH}} {value}  ({report.origin}{default})")
    for scope, stored in report.unusable.items():
        print(f"    ! {_show(stored)} is stored for the {scope} and has no effect: {report.name} is {report.accepts}.")


def _show(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
