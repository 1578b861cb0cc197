"""Reasons in the words a person would use: what took the room, who does not know something, and until when (ctx-9).

A reason is put into words only when somebody reads the trace. So nothing here costs an assembly time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from fabula.context.trace import Reason
from fabula.core.messages import Sentence, join_names, message, plural


def _count_others(count: int) -> Sentence:
    return plural(count, "{count} text that matters more", "{count} texts that matter more")


# By the kind of a source: how many of them took the room.
_COUNTED: dict[str, Callable[[int], Sentence]] = {
    "search": lambda count: plural(count, "{count} nearer passage", "{count} nearer passages"),
    "codex": lambda count: plural(count, "{count} entry that matters more", "{count} entries that matter more"),
    "lorebook": lambda count: plural(
        count, "{count} lorebook entry that matters more", "{count} lorebook entries that matter more"
    ),
    "synopsis": lambda count: plural(count, "{count} synopsis", "{count} synopses"),
    "memory": lambda count: plural(count, "{count} surer preference", "{count} surer preferences"),
    "message": lambda count: plural(count, "{count} newer message", "{count} newer messages"),
    "recap": lambda count: plural(count, "{count} recap", "{count} recaps"),
}


def explain_room(reason: Reason, *, kinds: Iterable[str], needed: int, left: int) -> Sentence:
    """Say what took the room: how many fragments of which kinds, the tokens it needs and those that were left."""
    values = {"needed": needed, "left": max(left, 0)}
    if reason is Reason.TOO_LARGE:
        return message("it needs {needed} tokens, and beside the rules and the instruction there are {left}", **values)
    if reason is Reason.PASSED_OVER:
        return message(
            "it needs {needed} tokens, and {left} were left when its turn came; smaller ones after it fitted", **values
        )
    counts = Counter(kind if kind in _COUNTED else "" for kind in kinds)
    if not counts:
        return message("the rest of the prompt took the room: it needs {needed} tokens, and {left} were left", **values)
    taken = join_names([_COUNTED.get(kind, _count_others)(count) for kind, count in counts.items()])
    return message("{taken} took the room: it needs {needed} tokens, and {left} were left", taken=taken, **values)
