"""Render: messages for the wire, one text for people, a hash of what did not move.

Post-processing is a step of its own and happens on slots, before anything is joined, so the sums
stay those of the messages as sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from fabula.context.measure import Measure, Unit
from fabula.context.place import Slot
from fabula.context.recipes.model import Recipe
from fabula.core.fragment import Role
from fabula.text.tokens.tokenizer import Tokenizer
from fabula.text.windows import GAP

_MESSAGES = 64  # beginnings kept
_ROLE, _STABLE = attrgetter("role"), attrgetter("stable")


class Message(Struct, frozen=True, gc=False):
    """One message as sent. The first `stable` characters belong to the stable prefix."""

    role: Role
    content: str
    stable: int = 0
    attachments: tuple[str, ...] = ()


class Rendered(Struct):
    """The prompt, its sums and its hash."""

    messages: list[Message]
    tokens: int
    owed: list[tuple[str, int]]  # to whom tokens belong, slot by slot
    overhead: int
    attachments: int
    prefix_hash: str
    _prompt: str | None = None

    def tokens_of(self, owner: str) -> int:
        """What belongs to one owner: a layer, the identity, the preset."""
        return max(sum([tokens for name, tokens in self.owed if name == owner]), 0)

    @property
    def prompt(self) -> str:
        """The whole prompt as one text."""
        if self._prompt is None:
            self._prompt = GAP.join(message.content for message in self.messages)
        return self._prompt


def tidy(slots: Sequence[Slot], recipe: Recipe, measure: Measure) -> list[list[Slot]]:
    """Which slots become one message: merged by role, or made to take turns, as the recipe asks."""
    if recipe.merge_system or recipe.alternate:
        first = [slot for slot in slots if slot.role == "system"] if recipe.merge_system else []
        rest = [slot for slot in slots if slot not in first] if first else list(slots)
        slots = [*first, *rest]
    if recipe.alternate:
        slots = _take_turns(slots, measure)
    if recipe.merge_same_role or recipe.alternate:
        return [[*group] for _, group in groupby(slots, _ROLE)]
    groups: list[list[Slot]] = []
    for role, group in groupby(slots, _ROLE):
        if role == "system" and recipe.merge_system:
            groups.append([*group])
        else:
            groups += ([slot] for slot in group)
    return groups


def _take_turns(slots: Sequence[Slot], measure: Measure) -> list[Slot]:
    """System messages only at the head; the first to speak is the user."""
    head = 0
    while head < len(slots) and slots[head].role == "system":
        head += 1
    turns = [*slots[:head]]
    if head < len(slots) and slots[head].role == "assistant":
        text = measure.words.first_turn
        turns.append(Slot("user", "preset", [Unit(text + GAP, measure.piece(text))]))
    turns += [
        Slot("user", slot.owner, slot.units, slot.stable) if slot.role == "system" else slot for slot in slots[head:]
    ]
    return turns


class Joined(Struct, frozen=True):
    """One message, whose its tokens are, and the hash of as much of it as belongs to the stable prefix."""

    message: Message
    owed: list[tuple[str, int]]
    tokens: int
    digest: str
    units: list[Unit]  # held, so that their ids stay taken


def render(
    slots: Sequence[Slot], recipe: Recipe, measure: Measure, attachments: tuple[str, ...], extra: int
) -> Rendered:
    """Join slots into messages and add everything up."""
    owed: list[tuple[str, int]] = []
    messages: list[Message] = []
    digests: list[str] = []
    total = extra + measure.model.per_reply
    additive = measure.tokenizer.additive
    untouched = True  # so far, everything belongs to the stable prefix
    for group in tidy(slots, recipe, measure):
        whole = untouched and all(map(_STABLE, group))
        joined = _kept(group, measure) if whole else _joined(group, untouched, measure)
        untouched = whole
        message = joined.message
        owed += joined.owed
        total += joined.tokens + measure.model.per_message
        if joined.digest:
            digests.append(joined.digest)
        if "/" in message.content and "\n/" in message.content:
            additive = False  # the one beginning that some vocabularies join to the line break before it
        messages.append(message)
    if attachments and messages:
        closing = messages[-1]
        messages[-1] = Message(closing.role, closing.content, closing.stable, attachments)
    overhead = measure.model.per_message * len(messages) + measure.model.per_reply
    if not additive:
        counted = extra + overhead + recount(messages, measure.tokenizer)
        owed.append(("immediate", counted - total))
        total = counted
    return Rendered(messages, total, owed, overhead, extra, digests[0] if len(digests) == 1 else prefix_hash(digests))


def _joined(group: Sequence[Slot], untouched: bool, measure: Measure) -> Joined:
    """Slots as one message. `untouched`: all before it belongs to the stable prefix."""
    units: list[Unit] = []
    owed: list[tuple[str, int]] = []
    stable = tokens = 0
    for slot in group:
        subtotal = sum([unit.tokens for unit in slot.units])
        units += slot.units
        tokens += subtotal
        owed.append((slot.owner, subtotal))
        untouched = untouched and slot.stable
        if untouched:
            stable = len(units)
    saved = units[-1].tokens - measure.bare(units[-1])
    owed.append((group[-1].owner, -saved))
    role, texts = group[0].role, [unit.text for unit in units]
    head = "".join(texts[:stable])
    texts[-1] = texts[-1].rstrip("\n")
    content = "".join(texts)
    digest = _digest(role, head) if stable else ""
    return Joined(Message(role, content, min(len(head), len(content))), owed, tokens - saved, digest, units)


def _kept(group: Sequence[Slot], measure: Measure) -> Joined:
    """The same for a message that belongs to the stable prefix: its units come again, and so does the message."""
    key = tuple([id(unit) for slot in group for unit in slot.units])
    known = measure.messages.get(key)
    if known is None or known.message.role != group[0].role:
        if len(measure.messages) >= _MESSAGES:
            measure.messages.clear()
        known = measure.messages[key] = _joined(group, True, measure)
    return known


@lru_cache(maxsize=_MESSAGES)
def _digest(role: Role, head: str) -> str:
    return prefix_hash((role, head))


def prefix_hash(texts: Sequence[str]) -> str:
    """SHA-256 of the stable prefix: every byte of it and nothing else, so free of times, ids and nonces."""
    return hashlib.sha256("\x1e".join(texts).encode()).hexdigest()


def recount(messages: Sequence[Message], tokenizer: Tokenizer) -> int:
    """The plain way to count: every message whole. For tokenizers whose counts do not add up."""
    return sum(tokenizer.count(message.content) for message in messages)
