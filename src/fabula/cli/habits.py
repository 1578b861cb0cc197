"""Commands about what is learnt and shown: outcomes, proposals, the preview, samples and the profile."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import place_of, print_json
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.cli.remembered import desk, line, memory_json, one_line, read, refused, report, scope_of, shelf

if TYPE_CHECKING:
    from fabula.context.request import Request
    from fabula.workspace.project import Fabula


def record(
    project: PROJECT,
    offered: Annotated[str, typer.Argument(help="The text that was offered: a file, or - for stdin.")],
    became: Annotated[str, typer.Option("--became", help="What you made of it: a file.")] = "",
    rejected: Annotated[bool, typer.Option("--rejected", help="It was thrown away.")] = False,
    skill: Annotated[str, typer.Option("--skill", "-s", help="What the model was asked to do.")] = "",
    at: Annotated[str | None, typer.Option("--at", help="Where: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")] = None,
    recalled: Annotated[list[str] | None, typer.Option(help="A memory that stood in the prompt: memory:ID.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Record what became of an offered text: accepted as it is, unless --became or --rejected."""
    from msgspec import to_builtins

    from fabula.memory.model import Fate, Outcome
    from fabula.memory.outcomes import record as keep

    fate = Fate.REJECTED if rejected else Fate.REWRITTEN if became else Fate.ACCEPTED
    with desk(project, store) as tx:
        kept = keep(
            tx,
            Outcome(
                offered=read(offered),
                became=read(became) if became else "",
                fate=fate,
                skill=skill,
                at=None if at is None else place_of(tx, at),
                recalled=tuple(recalled or ()),
            ),
        )
    if as_json:
        print_json(to_builtins(kept))
    else:
        print(f"Outcome {kept.id}: {kept.fate.value}.")


def learn(project: PROJECT, store: STORE = None, as_json: JSON = False) -> None:
    """Look over what you accepted, rejected and rewrote, and propose what it shows."""
    from fabula.core.ids import now
    from fabula.memory import edits as service
    from fabula.memory.learning import learn as take_in
    from fabula.memory.learning import weigh
    from fabula.memory.model import Scope

    with shelf(project, store) as reading:
        weighed = weigh(reading)
    with desk(project, store) as tx:
        learnt = take_in(tx, today=now(), weighed=weighed)
        proposed = [service.get(tx, ident) for ident in learnt.proposed]
    if as_json:
        print_json(
            {
                "outcomes": learnt.outcomes,
                "proposed": [memory_json(Scope.PROJECT, one, []) for one in proposed],
                "changed": learnt.changed,
                "withdrawn": learnt.withdrawn,
            }
        )
        return
    print(f"{learnt.outcomes} outcomes looked over, {len(proposed)} new proposal{'s' if len(proposed) != 1 else ''}.")
    for one in proposed:
        print(line(Scope.PROJECT, one))
        for said in one.evidence:
            print(f"    {said}")
    if proposed:
        print("Say yes or no: fabula memory confirm PROJECT ID, fabula memory dismiss PROJECT ID")


def preview(house: Fabula, request: Request, as_json: JSON = False) -> None:
    """What a prompt would hold of memory, and why the rest stays out."""
    from msgspec import to_builtins

    from fabula.context.recipes import UserProfile
    from fabula.core.ids import now
    from fabula.memory.preview import preview as seen

    about = house.view.room(UserProfile)
    found = seen(house.inspect(request, sitting=house.sitting(now())), about.text if about is not None else "")
    if as_json:
        print_json(to_builtins(found))
        return
    if found.profile:
        print(f"profile        {one_line(found.profile)}")
    for one in (*found.injected, *found.left_out):
        sign = "+" if one.included else "-"
        print(f"{sign} {one.sort:<13} {one.score:.2f} {one.tokens or '':>5}  {one_line(one.text)}")
        if one.sentence != "it fits":
            print(f"    {one.sentence}  [{one.reason}, {one.source}]")
    print(f"{len(found.injected)} in, {len(found.left_out)} out, {found.tokens} tokens.")


def add_sample(
    project: PROJECT,
    document: Annotated[str, typer.Argument(help="The document it stands in.")],
    first: Annotated[str, typer.Option("--from", help="The words it begins with.")],
    last: Annotated[str, typer.Option("--to", help="The words it ends with.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Choose a passage as an example of how you write; it is copied, and not told before its place."""
    from fabula.core.story import Position
    from fabula.manuscript.tables import documents
    from fabula.memory import samples

    with desk(project, store) as tx:
        found = tx.need(documents, id=document)
        start, end = samples.passage(found.text, first, last)
        made = samples.add(tx, found.text[start:end], at=Position(found.id, end))
    report(scope_of(False), made, f"Sample {made.id}: {len(made.text)} characters.", as_json)


def profile(
    text: Annotated[str | None, typer.Option("--set", help="Your profile, in new words.")] = None,
    file: Annotated[str | None, typer.Option("--file", help="The same from a file, or - for stdin.")] = None,
    change: Annotated[bool, typer.Option("--edit", help="Change it in your editor.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """What you say of yourself; it stands where presets put the profile."""
    from msgspec import to_builtins

    from fabula.memory import edits as service
    from fabula.store.store import OWNER

    with open_store(store) as opened:
        with opened.read(user=OWNER) as reading:
            found = service.profile(reading)
        new = text if text is not None else read(file) if file is not None else None
        if change:
            new = _edited(found.text)
        if new is not None:
            with opened.write(user=OWNER) as tx:
                service.write_profile(tx, new, expected=found.version)
                found = service.profile(tx)
    if as_json:
        print_json(to_builtins(found))
    else:
        print(found.text or "No profile yet. Write one: fabula memory profile --set TEXT")


def _edited(text: str) -> str:
    """A text after a person has changed it in their editor."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="fabula-") as folder:
        file = Path(folder) / "profile.md"
        file.write_text(text, "utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise refused(f"The editor {editor!r} could not be started. Set EDITOR, or use --set.") from error
        if done.returncode:
            raise refused(f"The editor {editor!r} ended with {done.returncode}.")
        return read(str(file))
