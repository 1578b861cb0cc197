"""`fabula recaps`: what a conversation's rounds were told as; look, edit, put in order, take away, make anew.

They are made in the background, by a model, every few rounds. Nothing is made here: `rebuild` asks for it, and
`fabula jobs run` does it.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import print_json, writing
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.cli.runs import plain
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.conversation.recaps.model import Kept
    from fabula.store.transaction import Reading

TALK = Annotated[str, typer.Argument(help="A conversation, by its id.")]
ITEM = Annotated[str, typer.Argument(help="A summary or a recap, by its id.")]
SEEN = Annotated[int | None, typer.Option("--version", help="The version you saw; refused if it is another by now.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    recaps = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Conversations told in short.")
    for name, command in (
        ("list", list_recaps),
        ("edit", edit),
        ("delete", delete),
        ("reorder", reorder),
        ("rebuild", rebuild),
        ("settings", settings),
    ):
        recaps.command(name=name)(command)
    app.add_typer(recaps, name="recaps")


def list_recaps(project: PROJECT, conversation: TALK, store: STORE = None, as_json: JSON = False) -> None:
    """Summaries and recaps of a conversation: which rounds, by whom, and whether that is still true."""
    from fabula.conversation.recaps import editing as kept_recaps
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id) as reading:
        found = kept_recaps.listed(reading, conversation)
    if as_json:
        print_json([_json(one) for one in found])
        return
    if not found:
        print("Nothing has been told in short yet.")
    for one in found:
        rounds = f"{one.first_round}-{one.last_round}"
        print(f"{one.sort:<8} {rounds:<10} {one.state:<6} {one.origin:<6} {one.id:<22} {_line(one.text)}")


def edit(
    project: PROJECT,
    conversation: TALK,
    item: ITEM,
    text: Annotated[str, typer.Argument(help="These rounds in your words; - reads standard input.")],
    version: SEEN = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Write a summary or a recap by hand; it is never written over by itself."""
    from fabula.conversation.recaps import editing as kept_recaps
    from fabula.jobs.triggers.recap_settings import rules_of

    said = sys.stdin.read() if text == "-" else text
    with writing(project, store) as tx:
        _check(tx, conversation, item)
        kept = kept_recaps.edit(tx, item, said, longest=rules_of(tx)[0].longest, expected=version)
    if as_json:
        print_json(_json(kept))
        return
    print(f"Rounds {kept.first_round} to {kept.last_round} are told in your words now.")


def delete(
    project: PROJECT,
    conversation: TALK,
    item: ITEM,
    version: SEEN = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Take a summary or a recap away; it comes back only when all are made anew."""
    from fabula.conversation.recaps import editing as kept_recaps

    with writing(project, store) as tx:
        _check(tx, conversation, item)
        kept_recaps.remove(tx, item, expected=version)
    if as_json:
        print_json({"deleted": item})
        return
    print(f"{item} is gone.")


def reorder(
    project: PROJECT,
    conversation: TALK,
    items: Annotated[list[str], typer.Argument(help="All recaps of the conversation, by their ids, in the new order.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Put the recaps in another order."""
    from fabula.conversation.recaps import editing as kept_recaps

    with writing(project, store) as tx:
        kept_recaps.reorder(tx, conversation, items)
    if as_json:
        print_json({"order": items})
        return
    print("The recaps stand in this order now.")


def rebuild(project: PROJECT, conversation: TALK, store: STORE = None, as_json: JSON = False) -> None:
    """Ask for all of them to be made anew, but for what was written by hand; until then everything stays."""
    from fabula.jobs.triggers import messages as after_saying

    with writing(project, store) as tx:
        key = after_saying.rebuild(tx, conversation)
    if as_json:
        print_json({"job": key})
        return
    print(f"Queued as {key}. Do it now: fabula jobs run")


def settings(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """When recaps are made and how long they may be; `fabula setting set` changes that."""
    from fabula.conversation.recaps.model import SETTINGS
    from fabula.jobs.triggers import recap_settings
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id) as reading:
        rules, strange = recap_settings.rules_of(reading)
    shown = {one: getattr(rules, rule) for one, (rule, _, _) in SETTINGS.items()}
    shown["budget.maxLatencyMs"] = round(rules.seconds * 1000)
    if as_json:
        print_json({"settings": shown, "strange": list(strange)})
        return
    for one, now in shown.items():
        print(f"{one:<32} {json.dumps(now)}" + ("  ! what is set makes no sense" if one in strange else ""))


def _check(reading: Reading, conversation: str, item: str) -> None:
    """This belongs to that conversation."""
    from fabula.conversation.recaps import editing as kept_recaps

    known = [one.id for one in kept_recaps.listed(reading, conversation)]
    if item not in known:
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            f"{conversation!r} has no summary or recap {item!r} (any more). "
            f"There are: {', '.join(known) or 'none'}. Nothing was changed.",
        )


def _line(text: str, most: int = 70) -> str:
    words = plain(" ".join(text.split()))
    return words if len(words) <= most else words[: most - 1] + "…"


def _json(kept: Kept) -> dict[str, object]:
    return {
        "id": kept.id,
        "kind": kept.sort,
        "text": kept.text,
        "createdAt": kept.created_at,
        "firstRound": kept.first_round,
        "lastRound": kept.last_round,
        "rounds": list(kept.rounds),
        "origin": kept.origin,
        "state": kept.state,
        "version": kept.version,
    }
