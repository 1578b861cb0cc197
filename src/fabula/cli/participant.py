"""`fabula participant`: who takes part in conversations, and their fixed prompts (cnv-4, cnv-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.biography import (
    ITEM,
    ITEMS,
    TEXT,
    VERSION,
    add_text,
    delete_text,
    edit_text,
    list_texts,
    reorder_texts,
)
from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import print_json, print_line, report, say, shorten
from fabula.cli.tables import Column, print_list
from fabula.core.messages import join_names, message

if TYPE_CHECKING:
    from fabula.conversation.participants import Participant

PARTICIPANT = Annotated[str, Argument(help="A participant, by name, alias or id.")]
ALIASES = Annotated[list[str] | None, Option("--alias", help="Another name or nickname; may be given several times.")]
PERSONA = Annotated[str | None, Option("--persona", help="Who they are and how they speak, for their own prompt.")]

commands = CommandGroup("participant", help="Who takes part in conversations.")
prompts = CommandGroup("prompt", help="Fixed prompts: what everybody in a participant's conversations is always told.")
commands.add_typer(prompts)


@commands.command("list")
def list_participants(project: PROJECT, with_ids: IDS = False, store: STORE = None, as_json: JSON = False) -> None:
    """List everybody who takes part in conversations.

    Example: fabula participant list "The Lantern Coast"
    """
    from fabula.workspace.schemas.conversations import describe_participant

    with open_project(project, store) as opened:
        found = opened.participants.list_all()
    columns: list[Column[Participant]] = [
        Column(message("name"), lambda one: one.name, style="bold"),
        Column(message("aliases"), lambda one: join_names(one.aliases)),
        Column(message("persona"), lambda one: shorten(one.persona, 120), wraps=True),
        Column(message("remarks"), lambda one: message("gone") if one.is_gone else ""),
    ]
    empty = message("Nobody takes part in conversations yet. Add somebody: fabula participant add PROJECT NAME")
    print_list(found, describe_participant, columns, empty, as_json, with_ids=with_ids)


@commands.command()
def show(project: PROJECT, name: PARTICIPANT, store: STORE = None, as_json: JSON = False) -> None:
    """Show a participant, and the character of the codex that they are.

    Example: fabula participant show "The Lantern Coast" Mara
    """
    from fabula.workspace.schemas.conversations import describe_participant

    with open_project(project, store) as opened:
        found, entry = opened.participants.get(name), opened.participants.find_entry(name)
        entry_name = opened.codex.find(entry).name if entry is not None else ""
    if as_json:
        print_json(describe_participant(found, entry))
        return
    print_line(found.name or found.id)
    if found.aliases:
        say("Also called {names}.", names=join_names(found.aliases))
    if entry_name:
        say("Knows what {name} of the codex knows.", name=entry_name)
    if found.is_gone:
        say("Gone; earlier messages keep the name.")
    if found.persona:
        print_line(f"\n{found.persona}")


@commands.command()
def add(
    project: PROJECT,
    name: Annotated[str, Argument(help="The name that stands before their lines.")],
    kind: Annotated[str, Option("--kind", help="What they are: persona, player, pawn, agent, or another word.")] = (
        "persona"
    ),
    key: Annotated[
        str | None, Option("--key", help="The key of their id; for a character, the id of the entry.")
    ] = None,
    alias: ALIASES = None,
    persona: PERSONA = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Add somebody who takes part in conversations.

    Example: fabula participant add "The Lantern Coast" Mara --persona "The keeper's daughter. Speaks little."
    """
    from fabula.workspace.schemas.conversations import describe_participant

    with open_project(project, store) as opened:
        added = opened.participants.add(name, namespace=kind, key=key, aliases=alias or (), persona=persona or "")
    report(describe_participant(added), message("{name} can take part in conversations now.", name=added.name), as_json)


@commands.command()
def edit(
    project: PROJECT,
    name: PARTICIPANT,
    new_name: Annotated[str | None, Option("--name", help="The new name.")] = None,
    alias: ALIASES = None,
    persona: PERSONA = None,
    gone: Annotated[bool | None, Option("--gone/--back", help="They take part no more, or again.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change a participant; the messages of before keep the persona that spoke.

    Example: fabula participant edit "The Lantern Coast" Mara --alias "Captain Venn"
    """
    from fabula.workspace.schemas.conversations import describe_participant

    with open_project(project, store) as opened:
        changed = opened.participants.edit(name, new_name=new_name, aliases=alias, persona=persona, is_gone=gone)
    report(describe_participant(changed), message("{name} is changed.", name=changed.name or changed.id), as_json)


@prompts.command("list")
def list_prompts(
    project: PROJECT, name: PARTICIPANT, with_ids: IDS = False, store: STORE = None, as_json: JSON = False
) -> None:
    """List the fixed prompts of a participant.

    Example: fabula participant prompt list "The Lantern Coast" Mara
    """
    list_texts("prompt", project, name, with_ids=with_ids, store=store, as_json=as_json)


@prompts.command("add")
def add_prompt(
    project: PROJECT,
    name: PARTICIPANT,
    text: TEXT,
    private: Annotated[bool, Option("--private", help="Only this participant is told it.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Add a fixed prompt of a participant.

    Example: fabula participant prompt add "The Lantern Coast" Mara "Mara never sells the barometer." --private
    """
    add_text("prompt", project, name, text, is_private=private, store=store, as_json=as_json)


@prompts.command("edit")
def edit_prompt(
    project: PROJECT,
    name: PARTICIPANT,
    item: ITEM,
    text: Annotated[str | None, Argument(help="The new text; - reads standard input.")] = None,
    private: Annotated[
        bool | None, Option("--private/--public", help="Only this participant is told it, or everybody.")
    ] = None,
    version: VERSION = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change a fixed prompt, or who is told it.

    Example: fabula participant prompt edit "The Lantern Coast" Mara 1 --public
    """
    edit_text("prompt", project, name, item, text, is_private=private, version=version, store=store, as_json=as_json)


@prompts.command("delete")
def delete_prompt(
    project: PROJECT, name: PARTICIPANT, item: ITEM, version: VERSION = None, store: STORE = None, as_json: JSON = False
) -> None:
    """Delete a fixed prompt; `fabula undo` brings it back.

    Example: fabula participant prompt delete "The Lantern Coast" Mara 1
    """
    delete_text("prompt", project, name, item, version=version, store=store, as_json=as_json)


@prompts.command("reorder")
def reorder_prompts(
    project: PROJECT, name: PARTICIPANT, items: ITEMS, store: STORE = None, as_json: JSON = False
) -> None:
    """Put the fixed prompts of a participant in another order.

    Example: fabula participant prompt reorder "The Lantern Coast" Mara 2 1
    """
    reorder_texts("prompt", project, name, items, store=store, as_json=as_json)
