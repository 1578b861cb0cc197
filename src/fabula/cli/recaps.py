"""`fabula recaps`: summaries and recaps of a conversation; list, edit, delete, reorder, make anew.

A model makes them in the background every few rounds. `rebuild` queues that work, and `fabula jobs run` does it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from fabula.cli.opening import open_project, print_json, printable, read_text
from fabula.cli.projects import JSON, PROJECT, STORE

CONVERSATION = Annotated[str, typer.Argument(help="A conversation, by its id.")]
ITEM = Annotated[str, typer.Argument(help="A summary or a recap, by its id.")]
VERSION = Annotated[int | None, typer.Option("--version", help="The version you saw; refused if it is another by now.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    recaps = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What happened in long conversations.")
    recaps.command(name="list")(list_recaps)
    recaps.command()(edit)
    recaps.command()(delete)
    recaps.command()(reorder)
    recaps.command()(rebuild)
    recaps.command()(settings)
    app.add_typer(recaps, name="recaps")


def list_recaps(project: PROJECT, conversation: CONVERSATION, store: STORE = None, as_json: JSON = False) -> None:
    """List the summaries and recaps of a conversation: their rounds, who wrote them, and whether they are up to date.

    Example: fabula recaps list "The Lantern Coast" evening-talk
    """
    with open_project(project, store) as opened:
        found = opened.recaps.list_recaps(conversation)
    if as_json:
        from fabula.workspace.schemas.recaps import describe_recap

        print_json([describe_recap(entry) for entry in found])
        return
    if not found:
        print("There are no summaries or recaps yet.")
    for entry in found:
        rounds = f"{entry.first_round}-{entry.last_round}"
        text = _shorten(entry.text)
        print(f"{entry.kind:<8} {rounds:<10} {entry.freshness:<6} {entry.origin:<6} {entry.id:<22} {text}")


def edit(
    project: PROJECT,
    conversation: CONVERSATION,
    item: ITEM,
    text: Annotated[str, typer.Argument(help="These rounds in your words; - reads standard input.")],
    version: VERSION = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Write a summary or a recap yourself; the model does not replace it.

    Example: fabula recaps edit "The Lantern Coast" evening-talk ID "They agreed to leave at dawn."
    """
    words = read_text("-") if text == "-" else text
    with open_project(project, store) as opened:
        changed = opened.recaps.edit(conversation, item, words, expected_version=version)
    if as_json:
        from fabula.workspace.schemas.recaps import describe_recap

        print_json(describe_recap(changed))
    else:
        print(f"Rounds {changed.first_round} to {changed.last_round} are in your words now.")


def delete(
    project: PROJECT,
    conversation: CONVERSATION,
    item: ITEM,
    version: VERSION = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Delete a summary or a recap; it comes back only when all are made anew.

    Example: fabula recaps delete "The Lantern Coast" evening-talk ID
    """
    with open_project(project, store) as opened:
        opened.recaps.remove(conversation, item, expected_version=version)
    if as_json:
        from fabula.workspace.schemas.recaps import RemovedRecap

        print_json(RemovedRecap(item=item))
    else:
        print(f"{item} is gone.")


def reorder(
    project: PROJECT,
    conversation: CONVERSATION,
    items: Annotated[list[str], typer.Argument(help="All recaps of the conversation, by their ids, in the new order.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Put the recaps in another order.

    Example: fabula recaps reorder "The Lantern Coast" evening-talk ID2 ID1
    """
    with open_project(project, store) as opened:
        opened.recaps.reorder(conversation, items)
    if as_json:
        from fabula.workspace.schemas.recaps import RecapOrder

        print_json(RecapOrder(order=tuple(items)))
    else:
        print("The recaps are in this order now.")


def rebuild(project: PROJECT, conversation: CONVERSATION, store: STORE = None, as_json: JSON = False) -> None:
    """Have all of them made anew, except what you wrote yourself; until then everything stays.

    Example: fabula recaps rebuild "The Lantern Coast" evening-talk
    """
    with open_project(project, store) as opened:
        key = opened.recaps.rebuild(conversation)
    if as_json:
        from fabula.workspace.schemas.recaps import QueuedRebuild

        print_json(QueuedRebuild(job=key))
    else:
        print(f"Queued as {key}. Do it now: fabula jobs run")


def settings(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Show when recaps are made and how long they may be; `fabula setting set` changes that.

    Example: fabula recaps settings "The Lantern Coast"
    """
    with open_project(project, store) as opened:
        found = opened.recaps.read_settings()
    if as_json:
        from fabula.workspace.schemas.recaps import describe_recap_settings

        print_json(describe_recap_settings(found))
        return
    import json

    for name, value in found.values.items():
        warning = "  ! the stored value cannot be used" if name in found.unusable else ""
        print(f"{name:<32} {json.dumps(value)}{warning}")


def _shorten(text: str, limit: int = 70) -> str:
    words = printable(" ".join(text.split()))
    return words if len(words) <= limit else words[: limit - 1] + "…"
