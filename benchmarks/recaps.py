"""The cost of recaps: adding messages with and without the recap trigger, and a refresh that finds nothing due.

python -m benchmarks.recaps [--json]
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figures import arguments, report, show, timed
from fabula.conversation import edits
from fabula.conversation.model import Message
from fabula.conversation.recaps.model import RecapInput, RecapRules
from fabula.conversation.recaps.rounds import Round, hash_rounds, load_rounds
from fabula.conversation.recaps.update import refresh_recaps
from fabula.conversation.tables import conversations, recaps, summaries
from fabula.jobs.triggers.messages import connect
from fabula.manuscript import projects
from fabula.store.store import Store

PROJECT, CONVERSATION = "p", "talk"
ROUNDS = 200
LONG = (100, 1_000, 10_000)
RULES = RecapRules()
WORDS = "She said that the lamp had gone out, and that nobody knew who had been up there. " * 3


def create_store(folder: Path, name: str) -> Store:
    """Create a store with one conversation."""
    store = Store.open(folder / name)
    projects.create(store, "Talked in", project_id=PROJECT)
    with store.write(project=PROJECT) as tx:
        edits.start_conversation(tx, CONVERSATION)
    return store


def add_message(store: Store, *, user: bool) -> None:
    """Add one message."""
    with store.write(project=PROJECT) as tx:
        edits.add_message(tx, CONVERSATION, Message(id="", role="user" if user else "assistant", content=WORDS))


def mark_nothing_due(store: Store) -> None:
    """Mark all rounds so far as summarised."""
    with store.write(project=PROJECT) as tx:
        row = tx.require(conversations, id=CONVERSATION)
        due = {
            "recap_due": row.rounds + RULES.rounds_per_summary,
            "said_due": row.said + RULES.max_messages + 1,
            "tokens_due": row.tokens + RULES.shown_tokens + 1,
        }
        tx.change_row(conversations, {"id": CONVERSATION}, due)


def time_messages(folder: Path) -> dict[str, tuple[float, float]]:
    """Return the median time of a message without and with the trigger, for three kinds of messages."""
    stores = [create_store(folder, name) for name in ("plain", "followed")]
    connect(stores[1])
    found: dict[str, list[list[float]]] = {name: [[], []] for name in ("question", "reply", "reply that queues")}
    for number in range(ROUNDS):
        due = number % 5 == 4
        for place, store in enumerate(stores):
            found["question"][place] += timed([partial(add_message, store, user=True)])
            found["reply that queues" if due else "reply"][place] += timed([partial(add_message, store, user=False)])
            if due:
                mark_nothing_due(store)
    for store in stores:
        store.close()
    return {name: (median(plain), median(followed)) for name, (plain, followed) in found.items()}


def write_recap(material: RecapInput) -> str:
    """Write a recap without a model."""
    return f"It was told in short, from {material.lines[0].text[:1]} on, after {len(material.previous_recap)} letters."


def save_texts(store: Store) -> None:
    """Save the summaries and recaps of all rounds, as they are written while a conversation goes on."""
    with store.write(project=PROJECT) as tx:
        rounds = load_rounds(tx, CONVERSATION).rounds
        told = [_make_row(f"s{n}", group) for n, group in enumerate(_group(rounds, RULES.rounds_per_summary))]
        tx.insert(summaries, *({**row, "stacked": 1, "last_round": row["rounds"][-1]} for row in told))
        stacks = _group(rounds, RULES.rounds_per_recap)
        kept = [_make_row(f"r{n}", group) | {"place": n + 1} for n, group in enumerate(stacks)][-RULES.max_recaps :]
        tx.insert(recaps, *kept)


def _group(rounds: Sequence[Round], size: int) -> list[Sequence[Round]]:
    return [rounds[start : start + size] for start in range(0, len(rounds), size)]


def _make_row(ident: str, rounds: Sequence[Round]) -> dict[str, Any]:
    return {
        "id": ident,
        "conversation_id": CONVERSATION,
        "rounds": [one.number for one in rounds],
        "heard": [number for one in rounds for number in one.public_numbers],
        "text": "It was told in short.",
        "made_from": hash_rounds(rounds),
    }


def time_refresh(folder: Path, rounds: int) -> float:
    """Return the median time of a refresh that finds nothing due."""
    store = create_store(folder, str(rounds))
    with store.write(project=PROJECT) as tx:
        many = [Message(id="", role="user" if n % 2 == 0 else "assistant", content=WORDS) for n in range(2 * rounds)]
        edits.add_messages(tx, CONVERSATION, many)
    save_texts(store)
    look = partial(refresh_recaps, store, PROJECT, CONVERSATION, write_recap=write_recap, rules=RULES)
    assert not look().entries
    found = median(timed([look] * 10))
    store.close()
    return found


def main() -> None:
    options = arguments(__doc__ or "", data=False).parse_args()
    with tempfile.TemporaryDirectory(prefix="fabula-recaps-") as folder:
        said = time_messages(Path(folder))
        found = {rounds: time_refresh(Path(folder), rounds) for rounds in LONG}
    rows = [(name, plain, followed, followed / plain) for name, (plain, followed) in said.items()]
    show("something said, milliseconds", ("", "alone", "followed", "times"), rows)
    show("a look that finds nothing due, milliseconds", ("rounds", "time"), [(f"{n:,}", t) for n, t in found.items()])
    figures: dict[str, float] = {}
    for name, (plain, followed) in said.items():
        figures |= {f"{name.replace(' ', '_')}_ms": plain, f"{name.replace(' ', '_')}_followed_ms": followed}
    report(figures | {f"look_at_{rounds}_ms": time for rounds, time in found.items()}, as_json=options.json)


if __name__ == "__main__":
    main()
