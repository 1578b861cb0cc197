"""`fabula recap`: summaries and recaps of a conversation; list, edit, delete, reorder, make anew.

A model makes them in the background every few rounds. `rebuild` queues that work, and `fabula jobs run` does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.editor import explain_conflict
from fabula.cli.opening import open_project, read_text
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import print_json, quote_name, report, shorten
from fabula.cli.tables import Column, print_list, print_table
from fabula.cli.value_names import name_value
from fabula.core.errors import FabulaError
from fabula.core.messages import Sentence, message

if TYPE_CHECKING:
    from fabula.conversation.recaps.model import RecapEntry
    from fabula.workspace.project import ProjectHandle

CONVERSATION = Annotated[str, Argument(help="A conversation, by its title or id.")]
ITEM = Annotated[str, Argument(help="A summary or a recap, by its number, its id or how it begins.")]
NO_MODEL = message(
    "A model writes recaps, and none works in the background: `background = NAME` in models.toml names one. "
    "The bundled model is too small for this."
)
WRITERS = {"hand": message("by hand"), "model": message("by a model")}
VERSION = Annotated[int | None, Option("--version", help="The version you saw; refused if it is another by now.")]

commands = CommandGroup("recap", help="What happened in long conversations.")


@commands.command("list")
def list_recaps(
    project: PROJECT, conversation: CONVERSATION, with_ids: IDS = False, store: STORE = None, as_json: JSON = False
) -> None:
    """List the summaries and recaps of a conversation: their rounds, who wrote them, and whether they are up to date.

    Example: fabula recap list "The Lantern Coast" evening-talk
    """
    from fabula.workspace.schemas.recaps import describe_recap

    with open_project(project, store) as opened:
        found = opened.recaps.list_recaps(conversation)
        empty = explain_none(opened)
    columns: list[Column[RecapEntry]] = [
        Column(message("kind"), lambda one: name_value(one.kind)),
        Column(message("rounds"), lambda one: f"{one.first_round}-{one.last_round}"),
        Column(message("state"), lambda one: name_value(one.freshness)),
        Column(message("written"), lambda one: WRITERS[one.origin]),
        Column(message("text"), lambda one: shorten(one.text, 200), wraps=True),
    ]
    print_list(found, describe_recap, columns, empty, as_json, with_ids=with_ids)


@commands.command()
def edit(
    project: PROJECT,
    conversation: CONVERSATION,
    item: ITEM,
    text: Annotated[str, Argument(help="These rounds in your words; - reads standard input.")],
    version: VERSION = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Write a summary or a recap yourself; the model does not replace it.

    Example: fabula recap edit "The Lantern Coast" evening-talk 1 "They agreed to leave at dawn."
    """
    from fabula.workspace.schemas.recaps import describe_recap

    words = read_text("-") if text == "-" else text
    command = f"fabula recap list {quote_name(project)} {quote_name(conversation)}"
    with open_project(project, store) as opened, explain_conflict(command):
        changed = opened.recaps.edit(conversation, item, words, expected_version=version)
    first, last = changed.first_round, changed.last_round
    sentence = message("Rounds {first} to {last} are in your words now.", first=first, last=last)
    report(describe_recap(changed), sentence, as_json)


@commands.command()
def delete(
    project: PROJECT,
    conversation: CONVERSATION,
    item: ITEM,
    version: VERSION = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Delete a summary or a recap; it comes back only when all are made anew.

    Example: fabula recap delete "The Lantern Coast" evening-talk 1
    """
    from fabula.workspace.schemas.recaps import RemovedRecap

    command = f"fabula recap list {quote_name(project)} {quote_name(conversation)}"
    with open_project(project, store) as opened, explain_conflict(command):
        opened.recaps.remove(conversation, item, expected_version=version)
    report(RemovedRecap(item=item), message("{name} is gone.", name=item), as_json)


@commands.command()
def reorder(
    project: PROJECT,
    conversation: CONVERSATION,
    items: Annotated[list[str], Argument(help="All recaps of the conversation, by their ids, in the new order.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Put the recaps in another order.

    Example: fabula recap reorder "The Lantern Coast" evening-talk 2 1
    """
    from fabula.workspace.schemas.recaps import RecapOrder

    with open_project(project, store) as opened:
        opened.recaps.reorder(conversation, items)
    report(RecapOrder(order=tuple(items)), message("The recaps are in this order now."), as_json)


@commands.command()
def rebuild(project: PROJECT, conversation: CONVERSATION, store: STORE = None, as_json: JSON = False) -> None:
    """Have all summaries and recaps made anew, except those you wrote yourself.

    Example: fabula recap rebuild "The Lantern Coast" evening-talk
    """
    from fabula.workspace.schemas.recaps import QueuedRebuild

    with open_project(project, store, runs_jobs=False) as opened:
        key = opened.recaps.rebuild(conversation)
        sentence = message("The recaps are queued to be made anew. Do it now: fabula jobs run")
        if not has_model(opened):
            sentence = message("The recaps are queued, and wait for a model. {reason}", reason=NO_MODEL)
    report(QueuedRebuild(job=key), sentence, as_json)


def explain_none(project: ProjectHandle) -> Sentence:
    """Say that there are no recaps yet, and what makes them."""
    if not has_model(project):
        return message("There are no summaries or recaps yet. {reason}", reason=NO_MODEL)
    return message(
        "There are no summaries or recaps yet. A model makes them in the background as the chat grows: "
        "fabula jobs list tells of it."
    )


def has_model(project: ProjectHandle) -> bool:
    """Whether a model works in the background, as recaps need one."""
    from fabula.workspace.writing_options import choose_background_model

    try:
        return project.store is not None and choose_background_model(project.store, project.id) is not None
    except FabulaError:  # a file of models that cannot be used names none
        return False


@commands.command()
def settings(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Show when recaps are made, how long they may be, and how many a chat is told.

    `fabula setting set` changes that.

    Example: fabula recap settings "The Lantern Coast"
    """
    with open_project(project, store) as opened:
        found = opened.recaps.read_settings()
    if as_json:
        from fabula.workspace.schemas.recaps import describe_recap_settings

        print_json(describe_recap_settings(found))
        return
    import json

    columns: list[Column[str]] = [
        Column(message("setting"), lambda name: name, style="bold"),
        Column(message("value"), lambda name: json.dumps(found.values[name])),
        Column(
            message("remarks"),
            lambda name: message("The value that is stored for it cannot be used.") if name in found.unusable else "",
            wraps=True,
        ),
    ]
    print_table(list(found.values), columns)
