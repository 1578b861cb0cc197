"""`fabula participant`: who takes part in conversations, their character cards and fixed prompts (cnv-4, cnv-7)."""

from __future__ import annotations

from pathlib import Path
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
from fabula.cli.options import IDS, JSON, OVERWRITE, PROJECT, STORE
from fabula.cli.output import print_json, print_line, print_warnings, render, report, say, shorten
from fabula.cli.tables import Column, print_list
from fabula.core.ids import format_time
from fabula.core.messages import Sentence, join_names, message, plural

if TYPE_CHECKING:
    from fabula.conversation.cards import CardTexts
    from fabula.conversation.participants import Participant
    from fabula.conversation.persona_revisions import PersonaRevision

PARTICIPANT = Annotated[str, Argument(help="A participant, by name, alias, number or id.")]
ALIASES = Annotated[list[str] | None, Option("--alias", help="Another name or nickname; may be given several times.")]
PERSONA = Annotated[str | None, Option("--persona", help="Who they are and how they speak, for their own prompt.")]

CARD = Annotated[str | None, Option("--card", help="The lorebook of the project that their character card came with.")]

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
        Column(message("remarks"), _make_remarks),
    ]
    empty = message("Nobody takes part in conversations yet. Add somebody: fabula participant add PROJECT NAME")
    print_list(found, describe_participant, columns, empty, as_json, with_ids=with_ids)


def _make_remarks(one: Participant) -> Sentence | str:
    """Say whether it is the person who plays, and whether there is a card; who is gone is that alone."""
    if one.is_gone:
        return message("gone")
    remarks = [message("player")] if one.id.startswith("player:") else []
    return join_names([*remarks, *([message("character card")] if one.card else [])])


@commands.command()
def show(project: PROJECT, name: PARTICIPANT, store: STORE = None, as_json: JSON = False) -> None:
    """Show a participant, and the character of the codex that they are.

    Example: fabula participant show "The Lantern Coast" Mara
    """
    from fabula.workspace.schemas.conversations import describe_participant

    with open_project(project, store) as opened:
        found, entry = opened.participants.get(name), opened.participants.find_entry(name)
        entry_name = opened.codex.find(entry).name if entry is not None else ""
        card = opened.participants.read_card(name)
    if as_json:
        print_json(describe_participant(found, entry, card))
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
    if card is not None:
        _print_card(card)


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
    card: CARD = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Add somebody who takes part in conversations.

    Example: fabula participant add "The Lantern Coast" Mara --persona "The keeper's daughter. Speaks little."
    """
    from fabula.workspace.schemas.conversations import describe_participant

    with open_project(project, store) as opened:
        added = opened.participants.add(
            name, namespace=kind, key=key, aliases=alias or (), persona=persona or "", card=card or ""
        )
    report(describe_participant(added), message("{name} can take part in conversations now.", name=added.name), as_json)


@commands.command()
def edit(
    project: PROJECT,
    name: PARTICIPANT,
    new_name: Annotated[str | None, Option("--name", help="The new name.")] = None,
    alias: ALIASES = None,
    persona: PERSONA = None,
    card: CARD = None,
    gone: Annotated[bool | None, Option("--gone/--back", help="They take part no more, or again.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change a participant; the messages of before keep the persona that spoke.

    Example: fabula participant edit "The Lantern Coast" Mara --alias "Captain Venn"
    """
    from fabula.workspace.schemas.conversations import describe_participant

    with open_project(project, store) as opened:
        changed = opened.participants.edit(
            name, new_name=new_name, aliases=alias, persona=persona, card=card, is_gone=gone
        )
    report(describe_participant(changed), message("{name} is changed.", name=changed.name or changed.id), as_json)


@commands.command()
def personas(
    project: PROJECT,
    name: PARTICIPANT,
    restore: Annotated[int | None, Option("--restore", help="The number of a persona to take again.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List the personas that a participant had, the present one first, or take one of them again.

    Example: fabula participant personas "The Lantern Coast" Mara --restore 1
    """
    from fabula.workspace.schemas.conversations import describe_participant, describe_persona

    with open_project(project, store) as opened:
        if restore is not None:
            changed = opened.participants.restore_persona(name, restore)
            sentence = message("{name} is changed.", name=changed.name or changed.id)
            report(describe_participant(changed), sentence, as_json)
            return
        found = opened.participants.list_personas(name)
    columns: list[Column[PersonaRevision]] = [
        Column(message("persona"), lambda one: shorten(one.persona, 200), wraps=True),
        Column(message("until"), lambda one: format_time(one.replaced) if one.replaced else ""),
    ]
    numbers = {str(one.revision): one.revision for one in found}
    empty = message("There is no persona yet.")
    print_list(found, describe_persona, columns, empty, as_json, id_of=lambda one: str(one.revision), numbers=numbers)


@commands.command("import")
def import_card(
    project: PROJECT,
    path: Annotated[Path, Argument(help="A character card: JSON, PNG or CHARX.")],
    kind: Annotated[str, Option("--kind", help="What they are: persona, pawn, agent, or another word.")] = "persona",
    replace: Annotated[bool, Option("--replace", help="In place of the card of the same name.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Import a character card, and let its character take part in conversations.

    Example: fabula participant import "The Lantern Coast" mara.png
    """
    from fabula.workspace.schemas.conversations import describe_participant

    with open_project(project, store) as opened:
        imported = opened.participants.import_card(path, namespace=kind, replace_existing=replace)
    if as_json:
        print_json(describe_participant(imported.participant, card=imported.card))
        return
    name = imported.participant.name
    if imported.is_new:
        say("{name} can take part in conversations now.", name=name)
    else:
        say("{name} has this card already. Nothing was changed.", name=name)
    say(
        "The card has {greetings} and {entries}.",
        greetings=plural(len(imported.card.list_greetings(in_group=False)), "{count} greeting", "{count} greetings"),
        entries=plural(imported.entry_count, "{count} lorebook entry", "{count} lorebook entries"),
    )
    print_warnings(imported.warnings)


@commands.command("card")
def edit_card(
    project: PROJECT,
    name: PARTICIPANT,
    description: Annotated[
        str | None, Option("--description", help="Who they are; everybody present knows it.")
    ] = None,
    personality: Annotated[
        str | None, Option("--personality", help="What they are like; everybody present knows it.")
    ] = None,
    scenario: Annotated[str | None, Option("--scenario", help="Where and why the conversation takes place.")] = None,
    first_message: Annotated[str | None, Option("--first-message", help="How they begin a conversation.")] = None,
    greeting: Annotated[
        list[str] | None, Option("--greeting", help="Another beginning; may be given several times.")
    ] = None,
    examples: Annotated[
        str | None, Option("--examples", help="Example dialogues, in the way cards write them.")
    ] = None,
    system_prompt: Annotated[
        str | None, Option("--system-prompt", help="What their prompts begin with, in place of the identity.")
    ] = None,
    post_history: Annotated[str | None, Option("--post-history", help="What stands behind the conversation.")] = None,
    depth_prompt: Annotated[
        str | None, Option("--depth-prompt", help="What stands inside the conversation, at a depth.")
    ] = None,
    depth: Annotated[
        int | None, Option("--depth", min=0, help="How many messages follow what stands at a depth.")
    ] = None,
    nickname: Annotated[str | None, Option("--nickname", help="What texts call them in place of the name.")] = None,
    notes: Annotated[str | None, Option("--notes", help="Notes for people; they reach no model.")] = None,
    talkative: Annotated[
        float | None, Option("--talkative", min=0, max=1, help="How often they speak unasked, from 0 to 1.")
    ] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Change the character card of a participant, or show it; an empty text takes a part away.

    Example: fabula participant card "The Lantern Coast" Mara --scenario "A night on the pier."
    """
    from fabula.workspace.schemas.conversations import describe_card

    changes = (description, personality, scenario, first_message, greeting, examples, system_prompt, post_history)
    others = (depth_prompt, depth, nickname, notes, talkative)
    with open_project(project, store) as opened:
        if all(value is None for value in (*changes, *others)):
            card = opened.participants.read_card(name)
            if card is None:
                say("{name} has no character card yet.", name=name)
                return
        else:
            card = opened.participants.edit_card(
                name,
                description=description,
                personality=personality,
                scenario=scenario,
                first_message=first_message,
                alternate_greetings=greeting,
                examples=examples,
                system_prompt=system_prompt,
                post_history=post_history,
                depth_prompt=depth_prompt,
                depth=depth,
                nickname=nickname,
                creator_notes=notes,
                talkativeness=talkative,
            )
    if as_json:
        print_json(describe_card(card))
        return
    _print_card(card)


@commands.command()
def export(
    project: PROJECT,
    name: PARTICIPANT,
    path: Annotated[Path, Argument(help="The file to write: .json, .png or .charx.")],
    into: Annotated[
        Path | None, Option("--into", help="A picture (PNG) or archive; a copy of it gets the card.")
    ] = None,
    version: Annotated[int | None, Option("--version", help="As a card of version 1, 2 or 3.")] = None,
    overwrite: OVERWRITE = False,
    store: STORE = None,
) -> None:
    """Write the character card of a participant to a file, with its lorebook.

    Example: fabula participant export "The Lantern Coast" Mara mara.json
    """
    with open_project(project, store) as opened:
        lost = opened.participants.export_card(name, path, into=into, version=version, overwrite=overwrite)
    say("{title} is in {path}.", title=name, path=path)
    print_warnings(lost)


def _print_card(card: CardTexts) -> None:
    """Print the parts of a card that have a text, each under its name."""
    parts = (
        (message("nickname"), card.nickname),
        (message("description"), card.description),
        (message("personality"), card.personality),
        (message("scenario"), card.scenario),
        (message("first message"), card.first_message),
        *((message("other greeting"), text) for text in card.alternate_greetings),
        *((message("greeting in a group"), text) for text in card.group_greetings),
        (message("example dialogues"), card.examples),
        (message("system prompt"), card.system_prompt),
        (message("behind the conversation"), card.post_history),
        (message("at depth {depth}", depth=card.depth), card.depth_prompt),
        (message("notes of the creator, for people only"), card.creator_notes),
    )
    for title, text in parts:
        if text.strip():
            print_line(f"\n{render(title)}:\n{text.strip()}")


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
