"""What the tests of rounds and recaps share: a conversation to talk in, and somebody who tells things in short."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from fabula.conversation import edits as service
from fabula.conversation.model import Message
from fabula.conversation.recaps.editing import listed
from fabula.conversation.recaps.model import Kept, Material, Refreshed, Rules
from fabula.conversation.recaps.update import refresh
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.store.store import Store

P, TALK = "coast", "talk"
_numbers = count(1)  # no two tellings are alike
SMALL = Rules(every=2, stack=4, most=3, longest=200)


def begin(store: Store) -> None:
    """A project with one conversation."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.start(tx, TALK)


def talk(store: Store, *names: str, parent: str | None = None) -> None:
    """A round of each name: a question and an answer, each with an id of its own."""
    with store.write(project=P) as tx:
        for place, name in enumerate(names):
            above = parent if place == 0 else None
            service.say(tx, TALK, Message(id=f"q{name}", role="user", content=f"Ask {name}?", parent_id=above))
            service.say(tx, TALK, Message(id=f"a{name}", role="assistant", content=f"Answer {name}."))


def rounds(first: int, last: int) -> list[str]:
    """Names of rounds."""
    return [str(number) for number in range(first, last + 1)]


class Teller:
    """Tells whatever it is given in words of its own, and remembers what it was given."""

    def __init__(self, meanwhile: Callable[[], None] | None = None) -> None:
        self.asked: list[Material] = []
        self._meanwhile = meanwhile

    def __call__(self, material: Material) -> str:
        self.asked.append(material)
        if self._meanwhile is not None:
            once, self._meanwhile = self._meanwhile, None
            once()
        return f"Telling number {next(_numbers)}, of {len(material.lines)} lines."


def failing(material: Material) -> str:
    """A provider that is away."""
    raise FabulaError(Code.LLM_GONE, "It is gone.")


def tell(
    store: Store, teller: Callable[[Material], str] | None = None, rules: Rules = SMALL, anew: str = ""
) -> Refreshed:
    """One refresh."""
    return refresh(store, P, TALK, digest=teller or Teller(), rules=rules, anew=anew)


def kept(store: Store, sort: str = "") -> list[Kept]:
    """What is listed, all or of one sort."""
    with store.read(project=P) as reading:
        return [one for one in listed(reading, TALK) if sort in ("", one.sort)]


def states(store: Store, sort: str) -> list[tuple[tuple[int, ...], str]]:
    """Which rounds are told, and whether that is still true."""
    return [(one.rounds, one.state) for one in kept(store, sort)]
