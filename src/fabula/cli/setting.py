"""Commands about settings: what is set for a project or a person, and setting it otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fabula.cli.desk import print_json
from fabula.cli.projects import JSON, PROJECT, STORE
from fabula.cli.remembered import desk, shelf

if TYPE_CHECKING:
    from fabula.store.transaction import Writing

NAME = Annotated[str, typer.Argument(help="The setting's name, such as search.embedding.")]
USER = Annotated[bool, typer.Option("--user", help="Your own setting, for all your books.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    setting = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="How a project, or you, want things done.")
    for name, command in (("list", list_settings), ("set", set_value), ("unset", unset)):
        setting.command(name=name)(command)
    app.add_typer(setting, name="setting")


def list_settings(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Everything that is set, of the project and of you; the project's goes before yours."""
    from msgspec import to_builtins

    from fabula.settings import edits as service

    with shelf(project, store) as reading:
        found = {scope: service.listed(reading, scope=scope) for scope in (_scope(False), _scope(True))}
    if as_json:
        print_json({scope: to_builtins(rows) for scope, rows in found.items()})
        return
    if not any(found.values()):
        print("Nothing is set. Set something: fabula setting set PROJECT NAME VALUE")
    for scope, rows in found.items():
        for one in rows:
            print(f"{scope:<8} {one.name:<28} {json.dumps(one.value, ensure_ascii=False)}")


def set_value(
    project: PROJECT,
    name: NAME,
    value: Annotated[str, typer.Argument(help="A word or a text, or any JSON value.")],
    user: USER = False,
    store: STORE = None,
) -> None:
    """Set something; it takes effect at once."""
    from fabula.settings import edits as service
    from fabula.workspace.writing_options import check_setting

    wanted = _read(value)
    check_setting(name, wanted, person=user)
    with desk(project, store) as tx:
        if user or wanted is None or not _understood(tx, name, wanted):
            service.put(tx, name, wanted, scope=_scope(user))
    print(f"{name} is set for {'you' if user else 'this project'}.")


def unset(project: PROJECT, name: NAME, user: USER = False, store: STORE = None) -> None:
    """Leave a setting to the house again."""
    from fabula.settings import edits as service

    with desk(project, store) as tx:
        if user or not _understood(tx, name, None):
            service.unset(tx, name, scope=_scope(user))
    print(f"{name} is not set any more.")


def _understood(tx: Writing, name: str, value: Any) -> bool:
    """Set through whoever understands it, where somebody does: it is checked there, and what hangs on it is told."""
    from fabula.conversation.recaps.model import SETTINGS
    from fabula.jobs import guards
    from fabula.jobs.triggers import recap_settings
    from fabula.settings import edits as service
    from fabula.skills import project_skills as own

    if value is None and service.get(tx, name) is None:
        return False
    if name in SETTINGS:
        recap_settings.put(tx, name, value)
    elif name == guards.BUDGET:
        guards.set_budget(tx, value)
    elif name.startswith(own.SETTING) and isinstance(value, str):
        own.keep(tx, name.removeprefix(own.SETTING), value)
    else:
        return False
    return True


def _scope(user: bool) -> Literal["project", "user"]:
    return "user" if user else "project"


def _read(value: str) -> Any:
    """JSON where it is any, else the text itself."""
    try:
        return json.loads(value)
    except ValueError:
        return value
