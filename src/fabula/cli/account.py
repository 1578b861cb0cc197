"""`fabula account`: whom you let in, what they may do, and the keys of programs."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import find_folder, open_workspace
from fabula.cli.options import HOST_VARIABLE, JSON, PORT_VARIABLE, PROJECT, STORE
from fabula.cli.output import print_json, print_line, say, translate, warn
from fabula.cli.tables import Column, print_list
from fabula.cli.value_names import name_value
from fabula.core.file_errors import describe_os_error
from fabula.core.ids import format_time
from fabula.core.messages import Sentence, join_names, message
from fabula.store.store import LOCAL_USER

if TYPE_CHECKING:
    from fabula.workspace.schemas.people import AccountInfo, KeyInfo
    from fabula.workspace.workspace import Workspace

log = logging.getLogger("fabula.security")

PASSWORD_VARIABLE = "FABULA_PASSWORD"
ACCOUNT = Annotated[str, Argument(help="An account, by the name to sign in with or the person's own.")]
NO_PASSWORD = Annotated[bool, Option("--no-password", help="They come through a proxy, or by keys alone.")]

commands = CommandGroup("account", help="Whom you let in, what they may do, and keys for programs.")
keys = CommandGroup("key", help="Keys of programs.")
commands.add_typer(keys)


@commands.command("list")
def list_accounts(store: STORE = None, as_json: JSON = False) -> None:
    """List whom you let in, with their roles.

    Example: fabula account list
    """
    from fabula.workspace.schemas.people import describe_account

    with open_workspace(store, runs_jobs=False) as workspace:
        titles = _read_titles(workspace)
        found = [describe_account(one, titles) for one in workspace.people.list_all()]
    columns: list[Column[AccountInfo]] = [
        Column(message("account"), lambda one: one.id, style="bold"),
        Column(message("name"), lambda one: one.name),
        Column(message("roles"), _name_roles),
        Column(message("since"), lambda one: format_time(one.created_at)),
    ]
    empty = message("You let in nobody yet. Add somebody: fabula account add NAME")
    print_list(found, lambda one: one, columns, empty, as_json)


@commands.command()
def add(
    account: Annotated[str, Argument(help="The name to sign in with: small letters, digits, points and hyphens.")],
    name: Annotated[str, Option("--name", help="The person's own name.")] = "",
    no_password: NO_PASSWORD = False,
    store: STORE = None,
) -> None:
    """Let somebody in. You are asked for a password; give them a role in a project then.

    Example: fabula account add ann --name "Ann Tarn"
    """
    password = "" if no_password else _ask_password()
    with _open_logged(store) as workspace:
        added = workspace.people.add(account, name=name, password=password)
    say(
        "{account} may sign in, and sees nothing yet. Give a role: fabula account role {account} PROJECT editor",
        account=added.id,
    )


@commands.command()
def remove(account: ACCOUNT, store: STORE = None) -> None:
    """Let somebody in no more; their keys and sessions end at once.

    Example: fabula account remove ann
    """
    with _open_logged(store) as workspace:
        say("{account} is let in no more.", account=workspace.people.remove(account).id)


@commands.command()
def password(account: ACCOUNT, store: STORE = None) -> None:
    """Give somebody another password, and sign them out.

    Example: fabula account password ann
    """
    with _open_logged(store) as workspace:
        found = workspace.people.find(account)
        workspace.people.set_password(found.id, _ask_password())
    say("{account} has another password.", account=found.id)


@commands.command()
def link(
    account: Annotated[str, Argument(help="Whom it signs in; you yourself by default.")] = LOCAL_USER,
    url: Annotated[
        str, Option("--url", help="Where a browser reaches the server, as in http://localhost:8080 behind a proxy.")
    ] = "",
    host: Annotated[str, Option("--host", envvar=HOST_VARIABLE, hidden=True)] = "127.0.0.1",
    port: Annotated[int, Option("--port", envvar=PORT_VARIABLE, hidden=True)] = 8600,
    store: STORE = None,
) -> None:
    """Make a link to a server that runs, which signs one browser in, once and within ten minutes.

    Example: fabula account link
    """
    from fabula.server.accounts import Accounts
    from fabula.server.address import make_link, make_url

    with _open_logged(store) as workspace:
        if account == LOCAL_USER:
            code = Accounts(workspace.store, {}).make_code()
            log.info("link made: %s by %s", LOCAL_USER, LOCAL_USER)
        else:
            code = workspace.people.create_link(account)
    print_line(make_link(url or make_url(host, port), code))


@commands.command()
def role(
    account: ACCOUNT,
    project: PROJECT,
    name: Annotated[str, Argument(help="owner, editor, reader, debugger or player; - for none.", metavar="ROLE")],
    character: Annotated[str, Option("--character", help="Through whose eyes a player sees.")] = "",
    documents: Annotated[
        list[str] | None,
        Option("--document", help="A chapter that a player may read; may be given again. Without one it reads none."),
    ] = None,
    conversations: Annotated[
        list[str] | None,
        Option("--conversation", help="A conversation whose recaps a player may read; may be given again."),
    ] = None,
    store: STORE = None,
) -> None:
    """Give somebody a role in a project, another one, or none.

    Example: fabula account role ann "The Lantern Coast" player --character "Mara Venn"
    """
    with _open_logged(store) as workspace:
        if name == "-":
            changed = workspace.people.remove_role(account, project)
            say("{account} has no role in it any more.", account=changed.id)
            return
        changed = workspace.people.set_role(
            account,
            project,
            name,
            character=character,
            documents=documents or (),
            conversations=conversations or (),
        )
        handle = workspace.project(project)
        given = changed.memberships[handle.id]
        titles = [one.name for one in handle.chapters.list_chapters() if one.id in (given.grants.documents or ())]
    say("{account} is {role} of it now.", account=changed.id, role=name_value(given.role))
    if given.grants.documents is None:
        return
    if titles:
        say(
            "As far as the character knows them, {account} reads: {chapters}.",
            account=changed.id,
            chapters=join_names(titles),
        )
    else:
        say("{account} reads no chapter. Name those that may be read: --document CHAPTER", account=changed.id)


@keys.command("list")
def list_keys(
    account: Annotated[str | None, Argument(help="Of one account alone.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List the keys of programs.

    Example: fabula account key list
    """
    from fabula.workspace.schemas.people import describe_key

    with open_workspace(store, runs_jobs=False) as workspace:
        titles = _read_titles(workspace)
        found = [describe_key(one) for one in workspace.people.list_keys(account)]
    columns: list[Column[KeyInfo]] = [
        Column(message("key"), lambda one: one.label, style="bold"),
        Column(message("account"), lambda one: one.account),
        Column(message("projects"), lambda one: _name_projects(one, titles)),
        Column(message("rights"), _name_rights),
        Column(message("state"), lambda one: message("revoked") if one.revoked_at else message("valid")),
    ]
    empty = message("There are no keys yet. Make one: fabula account key new WHAT-FOR")
    print_list(found, lambda one: one, columns, empty, as_json)


@keys.command("new")
def create_key(
    label: Annotated[str, Argument(help="What it is for.")],
    account: Annotated[str, Option("--account", help="For whom the program works; for you by default.")] = "owner",
    projects: Annotated[
        list[str] | None, Option("--project", help="A project it is for; may be given again. All by default.")
    ] = None,
    rights: Annotated[
        list[str] | None, Option("--right", help="What it may do; may be given again. Everything by default.")
    ] = None,
    verbs: Annotated[
        list[str] | None,
        Option("--verb", help="A single verb it may use, as project.search; may be given again, also beside rights."),
    ] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Make the key of a program. Its secret is shown once.

    Example: fabula account key new "my script" --project "The Lantern Coast" --right read
    """
    from fabula.workspace.schemas.people import describe_new_key

    with _open_logged(store) as workspace:
        made = workspace.people.create_key(
            label, person=account, projects=projects or (), rights=rights or (), verbs=verbs or ()
        )
    if as_json:
        print_json(describe_new_key(made))
        return
    say("This is the key. Store it now: it is not shown again.")
    print_line(made.secret)


@keys.command("revoke")
def revoke_key(key: Annotated[str, Argument(help="A key, by what it is for or its id.")], store: STORE = None) -> None:
    """Let a key open nothing any more.

    Example: fabula account key revoke "my script"
    """
    with _open_logged(store) as workspace:
        say("The key {label} opens nothing any more.", label=workspace.people.revoke_key(key).label)


@contextmanager
def _open_logged(store: str | None) -> Iterator[Workspace]:
    """Open the workspace of a store whose access is changed, and note the change in the log of its folder."""
    from fabula.server.logs import ACCESS_LOG, append_access_log

    folder = find_folder(store)
    with open_workspace(store, runs_jobs=False) as workspace, ExitStack() as stack:
        try:
            stack.enter_context(append_access_log(folder))
        except OSError as error:
            reason = describe_os_error(error)
            warn("This enters no log: {file} cannot be written ({reason}).", file=folder / ACCESS_LOG, reason=reason)
        yield workspace


def _ask_password() -> str:
    """Return the password of the environment, or ask for one twice."""
    given = os.environ.get(PASSWORD_VARIABLE)
    if given is not None:
        return given
    return str(typer.prompt(translate("Password"), hide_input=True, confirmation_prompt=translate("Again")))


def _read_titles(workspace: Workspace) -> dict[str, str]:
    return {one.id: one.title for one in workspace.projects()}


def _name_roles(account: AccountInfo) -> Sentence | str:
    roles = [
        message("{role} of {title}", role=name_value(one.role), title=one.title or one.project) for one in account.roles
    ]
    return join_names(roles) if roles else "–"


def _name_projects(key: KeyInfo, titles: dict[str, str]) -> Sentence:
    if key.projects is None:
        return message("all")
    return join_names([titles.get(one, one) for one in key.projects])


def _name_rights(key: KeyInfo) -> Sentence:
    if key.rights is None and key.verbs is None:
        return message("all")
    return join_names([*map(name_value, key.rights or ()), *(key.verbs or ())])
