"""What recaps cost those who talk: something said with and without what follows from it, and a look for what is due.

python -m benchmarks.recaps [--json]
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.figures import arguments, report, show, timed
from fabula.conversation import edits as service
from fabula.conversation.model import Message
from fabula.conversation.recaps.model import Material, Rules
from fabula.conversation.recaps.update import refresh
from fabula.conversation.tables import conversations
from fabula.jobs.triggers.messages import follow
from fabula.manuscript import projects
from fabula.store.store import Store

PROJECT, TALK = "p", "talk"
ROUNDS = 200
LONG = (100, 1_000, 10_000)
WORDS = "She said that the lamp had gone out, and that nobody knew who had been up there. " * 3


def begin(folder: Path, name: str) -> Store:
    """A store with one conversation."""
    store = Store.open(folder / name)
    projects.create(store, "Talked in", project_id=PROJECT)
    with store.write(project=PROJECT) as tx:
        service.start(tx, TALK)
    return store


def say(store: Store, *, user: bool) -> None:
    """One message more."""
    with store.write(project=PROJECT) as tx:
        service.say(tx, TALK, Message(id="", role="user" if user else "assistant", content=WORDS))


def at_rest(store: Store) -> None:
    """As if every round so far had been told: nothing is due."""
    with store.write(project=PROJECT) as tx:
        due = service.get(tx, TALK).rounds + 5
        tx.change(conversations, {"recap_due": due}, conversations.c.id == TALK)


def saying(folder: Path) -> dict[str, tuple[float, float]]:
    """The usual time of a message without and with what follows from it, turn by turn: three sorts of them."""
    stores = [begin(folder, name) for name in ("plain", "followed")]
    follow(stores[1])
    found: dict[str, list[list[float]]] = {name: [[], []] for name in ("question", "reply", "reply that queues")}
    for number in range(ROUNDS):
        due = number % 5 == 4
        for place, store in enumerate(stores):
            found["question"][place] += timed([partial(say, store, user=True)])
            found["reply that queues" if due else "reply"][place] += timed([partial(say, store, user=False)])
            if due:
                at_rest(store)
    for store in stores:
        store.close()
    return {name: (median(plain), median(followed)) for name, (plain, followed) in found.items()}


def tell(material: Material) -> str:
    """An answer at once."""
    return f"It was told in short, from {material.lines[0].text[:1]} on, after {len(material.earlier)} letters."


def looking(folder: Path, rounds: int) -> float:
    """The usual time of a refresh that finds nothing due, in a conversation of so many rounds."""
    store = begin(folder, str(rounds))
    with store.write(project=PROJECT) as tx:
        many = [Message(id="", role="user" if n % 2 == 0 else "assistant", content=WORDS) for n in range(2 * rounds)]
        service.say_all(tx, TALK, many)
    rules = Rules(every=rounds // 5, stack=2 * rounds // 5)
    assert refresh(store, PROJECT, TALK, digest=tell, rules=rules).made
    found = median(timed([partial(refresh, store, PROJECT, TALK, digest=tell, rules=rules) for _ in range(10)]))
    store.close()
    return found


def main() -> None:
    options = arguments(__doc__ or "", data=False).parse_args()
    with tempfile.TemporaryDirectory(prefix="fabula-recaps-") as folder:
        said = saying(Path(folder))
        found = {rounds: looking(Path(folder), rounds) for rounds in LONG}
    rows = [(name, plain, followed, followed / plain) for name, (plain, followed) in said.items()]
    show("something said, milliseconds", ("", "alone", "followed", "times"), rows)
    show("a look that finds nothing due, milliseconds", ("rounds", "time"), [(f"{n:,}", t) for n, t in found.items()])
    figures: dict[str, float] = {}
    for name, (plain, followed) in said.items():
        figures |= {f"{name.replace(' ', '_')}_ms": plain, f"{name.replace(' ', '_')}_followed_ms": followed}
    report(figures | {f"look_at_{rounds}_ms": time for rounds, time in found.items()}, as_json=options.json)


if __name__ == "__main__":
    main()
