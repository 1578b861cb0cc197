"""`fabula fact`: what the book itself says of an entry; list, use, dismiss and restore."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import ANY_PROJECT, JSON, PROJECT, STORE
from fabula.cli.output import print_json, print_line, render, report, say
from fabula.core.messages import message, plural

ENTRY = Annotated[str, Argument(help="An entry, by its name, number or id.")]
FACT = Annotated[str, Argument(help="A fact, by its number in the list, its id or its first words.")]

AWAY = Annotated[
    str | None, Argument(help="A fact, by its number among the dismissed ones or its first words; all if left out.")
]

commands = CommandGroup("fact", help="What the book itself says of an entry.")


@commands.command("list")
def list_facts(
    project: ANY_PROJECT,
    entry: ENTRY,
    dismissed: Annotated[bool, Option("--dismissed", help="Those that were dismissed or used.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List what the book says of an entry, the most telling sentences first.

    Example: fabula fact list sample:lantern_coast "Mara Venn"
    """
    from fabula.workspace.schemas.facts import describe_facts

    with open_project(project, store) as opened:
        shown = describe_facts(opened.facts.list_facts(entry, dismissed=dismissed), opened.view)
        name = opened.codex.find(entry).name
    if as_json:
        print_json(shown)
        return
    if not shown.facts and dismissed:
        say("No fact of {name} was dismissed or used.", name=name)
        return
    if not shown.facts:
        say("The book says nothing of {name} that would be worth a line.", name=name)
        return
    for fact in shown.facts:
        where = fact.chapter
        if fact.origin == "model":
            where = render(message("{chapter}, found by the model", chapter=fact.chapter))
        print_line(f"{fact.number:>3}  {fact.text}  ({where})")
    if dismissed:
        say("List one again with: fabula fact restore PROJECT ENTRY NUMBER")
    else:
        say("Take one into the codex with: fabula fact use PROJECT ENTRY NUMBER --as progression")


@commands.command()
def use(
    project: PROJECT,
    entry: ENTRY,
    fact: FACT,
    as_what: Annotated[
        str, Option("--as", help="What becomes of it: description, progression, knowledge or constraint.")
    ] = "progression",
    known_to: Annotated[list[str] | None, Option("--known-to", help="Who knows it, for knowledge.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Make a description, a progression, knowledge or a constraint of a fact.

    Example: fabula fact use "The Lantern Coast" "Mara Venn" 1 --as progression
    """
    from fabula.workspace.schemas.facts import describe_used_fact

    with open_project(project, store) as opened:
        used = opened.facts.use(entry, fact, as_what, known_to=known_to or ())
        shown = describe_used_fact(used, opened.view)
    names = {
        "description": message("{name} is described by it now.", name=used.entry.name),
        "progression": message("{name} has it as a progression now.", name=used.entry.name),
        "knowledge": message("{name} has it as a progression now, for those who know it.", name=used.entry.name),
        "constraint": message("It is a constraint now."),
    }
    report(shown, names[used.use.value], as_json)


@commands.command()
def dismiss(project: PROJECT, entry: ENTRY, fact: FACT, store: STORE = None, as_json: JSON = False) -> None:
    """Never list a fact again.

    Example: fabula fact dismiss "The Lantern Coast" "Mara Venn" 2
    """
    from fabula.workspace.schemas.facts import describe_fact

    with open_project(project, store) as opened:
        found = opened.facts.dismiss(entry, fact)
        shown = describe_fact(found, opened.view)
    report(shown, message("It will not be listed again: {sentence}", sentence=found.text), as_json)


@commands.command()
def restore(project: PROJECT, entry: ENTRY, fact: AWAY = None, store: STORE = None) -> None:
    """List a dismissed or used fact of an entry again, or all of them.

    Example: fabula fact restore "The Lantern Coast" "Mara Venn"
    """
    with open_project(project, store) as opened:
        count = opened.facts.restore(entry, fact)
    say(plural(count, "One fact is listed again.", "{count} facts are listed again."))
