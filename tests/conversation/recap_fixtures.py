"""Helpers of the recap tests: a conversation with rounds and a fake writer of recaps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from fabula.conversation import edits
from fabula.conversation.model import Message
from fabula.conversation.recaps.editing import list_recaps
from fabula.conversation.recaps.model import RecapEntry, RecapInput, RecapRefreshResult, RecapRules
from fabula.conversation.recaps.update import refresh_recaps
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.manuscript import projects
from fabula.store.store import Store

P, CONVERSATION = "coast", "talk"
_numbers = count(1)  # no two tellings are alike
SMALL = RecapRules(rounds_per_summary=2, rounds_per_recap=4, max_recaps=3, max_chars=200)


def create_conversation(store: Store) -> None:
    """A project with one conversation."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.start_conversation(tx, CONVERSATION)


def add_rounds(store: Store, *names: str, parent: str | None = None) -> None:
    """A round of each name: a question and an answer, each with an id of its own."""
    with store.write(project=P) as tx:
        for place, name in enumerate(names):
            above = parent if place == 0 else None
            edits.add_message(
                tx, CONVERSATION, Message(id=f"q{name}", role="user", content=f"Ask {name}?", parent_id=above)
            )
            edits.add_message(tx, CONVERSATION, Message(id=f"a{name}", role="assistant", content=f"Answer {name}."))


def name_rounds(first: int, last: int) -> list[str]:
    """Names of rounds."""
    return [str(number) for number in range(first, last + 1)]


class FakeWriter:
    """Tells whatever it is given in words of its own, and remembers what it was given."""

    def __init__(self, meanwhile: Callable[[], None] | None = None) -> None:
        self.inputs: list[RecapInput] = []
        self._meanwhile = meanwhile

    def __call__(self, material: RecapInput) -> str:
        self.inputs.append(material)
        if self._meanwhile is not None:
            once, self._meanwhile = self._meanwhile, None
            once()
        return f"Telling number {next(_numbers)}, of {len(material.lines)} lines."


def fail_to_write(material: RecapInput) -> str:
    """A provider that is away."""
    raise FabulaError(Code.LLM_GONE, message("It is gone."))


def refresh(
    store: Store, writer: Callable[[RecapInput], str] | None = None, rules: RecapRules = SMALL, rebuild_before: str = ""
) -> RecapRefreshResult:
    """One refresh."""
    return refresh_recaps(
        store, P, CONVERSATION, write_recap=writer or FakeWriter(), rules=rules, rebuild_before=rebuild_before
    )


def list_entries(store: Store, kind: str = "") -> list[RecapEntry]:
    """What is listed, all or of one sort."""
    with store.read(project=P) as reading:
        return [one for one in list_recaps(reading, CONVERSATION) if kind in ("", one.kind)]


def list_freshness(store: Store, kind: str) -> list[tuple[tuple[int, ...], str]]:
    """Which rounds are told, and whether that is still true."""
    return [(one.rounds, one.freshness) for one in list_entries(store, kind)]
