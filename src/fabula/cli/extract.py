"""`fabula extract`: entries for the codex, found in a manuscript that is already there.

Proposals are made anew each time, from the text as it stands. What was accepted is in the codex and
what was dismissed is in a setting; neither is proposed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.projects import JSON, PROJECT, STORE, bar, open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.store.store import Store
    from fabula.store.transaction import Reading, Writing
    from fabula.text.extraction.proposals import Proposal

DISMISSED = "extract.dismissed"


def register(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command(name="extract")(extract)


def extract(
    project: PROJECT,
    accept: Annotated[list[str] | None, typer.Option("--accept", help="Make an entry of this one.")] = None,
    dismiss: Annotated[list[str] | None, typer.Option("--dismiss", help="Never propose this one again.")] = None,
    most: Annotated[int, typer.Option("--most", min=1, max=2000, help="How many to list.")] = 40,
    as_json: JSON = False,
    store: STORE = None,
) -> None:
    """Propose codex entries from the manuscript; accept or dismiss them by name."""
    from fabula.manuscript import projects
    from fabula.text.extraction.extract import propose

    chosen, unwanted = accept or [], dismiss or []
    with open_store(store) as opened:
        card = projects.find(opened, project)
        with opened.read(project=card.id) as reading:
            texts, known = _texts(reading), [*_dismissed(reading), *_known(opened, card.id)]
        with bar(f"Reading {card.title}") as progress:
            found = propose(texts, language=card.language, most=2000, known=known, progress=progress)
        taken = _called(found, chosen)
        _called(found, unwanted)
        if chosen or unwanted:
            with opened.write(project=card.id) as tx:
                _accept(tx, taken)
                _dismiss(tx, unwanted)
    gone = {id(proposal) for proposal in (*taken, *_called(found, unwanted))}
    left = [proposal for proposal in found if id(proposal) not in gone][:most]
    if as_json:
        print(json.dumps(_report(left, taken, unwanted), ensure_ascii=False, indent=2))
        return
    for proposal in taken:
        print(f"{proposal.name} is in the codex now.")
    for name in unwanted:
        print(f"{name} will not be proposed again.")
    if not (taken or unwanted):
        _show(left, card.title)


def _texts(reading: Reading) -> list[tuple[str, str]]:
    from fabula.manuscript import snapshot

    return [(document.id, document.text) for document in snapshot.load(reading).documents]


def _known(store: Store, project: str) -> list[str]:
    """What is in the codex of a book or its series, under any name it has at any time."""
    from fabula.codex.model import Codex
    from fabula.workspace.views import Library

    codex = Library(store).view(project).room(Codex)
    return [name for entry in (codex.entries if codex is not None else ()) for name in entry.names]


def _dismissed(reading: Reading) -> list[str]:
    from fabula.settings import edits as service

    setting = service.get(reading, DISMISSED)
    names = setting.value if setting is not None else []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _called(found: Iterable[Proposal], names: Sequence[str]) -> list[Proposal]:
    """The proposals of these names or aliases; refused when one of them is nobody's."""
    by_name: dict[str, Proposal] = {}
    for proposal in found:
        for name in proposal.names:
            by_name.setdefault(name.casefold(), proposal)
    strange = [name for name in names if name.casefold() not in by_name]
    if strange:
        raise FabulaError(
            Code.CODEX_INVALID,
            f"Nothing called {', '.join(strange)} is proposed: `fabula extract` lists what is. Nothing was changed.",
        )
    return list({id(one): one for one in (by_name[name.casefold()] for name in names)}.values())


def _accept(tx: Writing, proposals: Iterable[Proposal]) -> None:
    from fabula.codex import edits as service
    from fabula.codex.model import Entry

    for proposal in proposals:
        service.create(tx, Entry(id="", type=proposal.kind, name=proposal.name, aliases=proposal.aliases))


def _dismiss(tx: Writing, names: Iterable[str]) -> None:
    from fabula.settings import edits as service

    before = _dismissed(tx)
    after = list(dict.fromkeys([*before, *names]))
    if after != before:
        service.put(tx, DISMISSED, after)


def _report(left: Iterable[Proposal], taken: Iterable[Proposal], dismissed: Sequence[str]) -> dict[str, object]:
    return {
        "accepted": [proposal.name for proposal in taken],
        "dismissed": list(dismissed),
        "proposals": [
            {
                "name": proposal.name,
                "aliases": list(proposal.aliases),
                "kind": proposal.kind,
                "mentions": proposal.mentions,
                "documentId": proposal.document,
                "offset": proposal.offset,
                "evidence": list(proposal.evidence),
                "score": proposal.score,
            }
            for proposal in left
        ],
    }


def _show(proposals: Sequence[Proposal], title: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not proposals:
        print(f"Nothing in {title} looks like a name that the codex does not have.")
        return
    table = Table(box=None, pad_edge=False, header_style="grey58")
    for column in ("name", "kind", "mentions", "also called", "first"):
        table.add_column(column, justify="right" if column == "mentions" else "left", max_width=60)
    for one in proposals:
        first = one.evidence[0] if one.evidence else ""
        table.add_row(
            Text(one.name, style="bold"),
            one.kind,
            f"{one.mentions:,}",
            Text(", ".join(one.aliases)),
            Text(first[:60], style="grey58"),
        )
    Console().print(table)
    print("Take one with --accept NAME, or see it no more with --dismiss NAME.")
