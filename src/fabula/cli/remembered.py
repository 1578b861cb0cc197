"""What commands about memory share: opening a project with its person, and showing a memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.cli.desk import print_json
from fabula.cli.projects import open_store
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.memory.model import Remembered, Scope
    from fabula.store.transaction import Reading, Writing

_SIGNS = {"confirmed": "✓", "proposed": "?", "dismissed": "✗"}


def memory_json(scope: Scope, one: Remembered, against: list[str]) -> dict[str, object]:
    """A memory as JSON, with how sure we are of it today."""
    from msgspec import to_builtins

    now, resting = _today(one)
    plain: dict[str, object] = to_builtins(one)
    return plain | {"scope": scope.value, "today": now, "resting": resting, "contradicts": against}


def line(scope: Scope, one: Remembered) -> str:
    now, resting = _today(one)
    sign = "z" if resting else _SIGNS[one.state.value]
    rests = f"  ({one.agreeing} for, {one.against} against)" if one.origin.value == "learned" else ""
    return f"{sign} {one.id:<20} {one.kind.value:<12} {scope.value:<7} {now:.2f}  {one_line(one.text)}{rests}"


def _today(one: Remembered) -> tuple[float, bool]:
    from fabula.core.ids import now
    from fabula.memory.confidence import RESTS, confidence
    from fabula.memory.model import Origin, State

    sure = confidence(one, now())
    return sure, one.origin is Origin.LEARNED and one.state is State.CONFIRMED and one.confidence < RESTS


@contextmanager
def shelf(project: str, store: str | None) -> Iterator[Reading]:
    """A project and its owner, to be looked at."""
    from fabula.manuscript import projects
    from fabula.store.store import OWNER

    with open_store(store) as opened, opened.read(project=projects.find(opened, project).id, user=OWNER) as reading:
        yield reading


@contextmanager
def desk(project: str, store: str | None) -> Iterator[Writing]:
    """A project and its owner, to be changed together."""
    from fabula.manuscript import projects
    from fabula.store.store import OWNER

    with open_store(store) as opened, opened.write(project=projects.find(opened, project).id, user=OWNER) as tx:
        yield tx


def scope_of(user: bool) -> Scope:
    from fabula.memory.model import Scope

    return Scope.USER if user else Scope.PROJECT


def report(scope: Scope, made: Remembered, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(memory_json(scope, made, []))
    else:
        print(sentence)


def one_line(text: str, most: int = 100) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1] + "…"


def read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise refused(f"{name} could not be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise refused(f"{name} is not UTF-8 text.") from error


def refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")
