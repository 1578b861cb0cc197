"""Render: make the messages as sent, merging roles (inj-5); count them and hash the stable prefix (pre-1).

Post-processing (merging roles, alternation) works on slots, before anything is joined, so the
token counts are those of the messages as sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from fabula.context.measure import Measure, TextBlock
from fabula.context.place import Slot
from fabula.context.recipes.model import Recipe
from fabula.core.fragment import Role
from fabula.text.tokens.tokenizer import Tokenizer
from fabula.text.windows import BLOCK_SEPARATOR

_MERGED_BY = attrgetter("role", "source")


class PromptMessage(Struct, frozen=True, gc=False):
    """One message as sent. The first `stable` characters belong to the stable prefix."""

    role: Role
    content: str
    stable: int = 0
    attachments: tuple[str, ...] = ()
    source: str = ""  # of the one fragment that it is, if that is a message of its own


class RenderedPrompt(Struct):
    """The messages as sent, their tokens and the hash of the stable prefix."""

    messages: list[PromptMessage]
    tokens: int
    tokens_by_owner: Mapping[str, int]  # below zero where counts did not add up
    overhead: int
    attachment_tokens: int
    prefix_hash: str
    _prompt: str | None = None

    def tokens_of(self, owner: str) -> int:
        """The tokens of one owner: a layer, the identity, the preset."""
        return max(self.tokens_by_owner.get(owner, 0), 0)

    @property
    def prompt(self) -> str:
        """The whole prompt as one text."""
        if self._prompt is None:
            self._prompt = BLOCK_SEPARATOR.join(message.content for message in self.messages)
        return self._prompt


def render(
    slots: Sequence[Slot],
    recipe: Recipe,
    measure: Measure,
    attachments: tuple[str, ...],
    attachment_tokens: int,
    added_tokens: int = 0,
) -> RenderedPrompt:
    """Join slots into messages and count everything; `added_tokens` are those that the provider adds."""
    model = measure.model
    tokens_by_owner: dict[str, int] = {}
    messages: list[PromptMessage] = []
    hashes: list[str] = []
    total = 0
    is_prefix = True  # everything so far belongs to the stable prefix
    for group in group_slots(slots, recipe, measure):
        is_prefix = is_prefix and group[0].is_stable
        parts = tuple([(slot.owner, slot.is_stable, tuple(slot.blocks)) for slot in group])
        join = _join_once if is_prefix and group[-1].is_stable else _join
        joined = join(group[0].role, group[0].source, parts, measure.count_at_end(group[-1].blocks[-1]), is_prefix)
        messages.append(joined.message)
        for owner, tokens in joined.tokens_by_owner:
            tokens_by_owner[owner] = tokens_by_owner.get(owner, 0) + tokens
            total += tokens
        if joined.prefix_hash:
            hashes.append(joined.prefix_hash)
        is_prefix = joined.is_prefix
    if attachments and messages:
        last = messages[-1]
        messages[-1] = PromptMessage(last.role, last.content, last.stable, attachments, last.source)
    overhead = model.tokens_per_message * len(messages) + model.tokens_per_reply + added_tokens
    if not any(message.role == "system" for message in messages):
        overhead += model.default_system_tokens
    if attachments and messages[-1].role != "user":  # they are a message of their own then
        overhead += model.tokens_per_message
    # Some vocabularies join a slash at the beginning of a line to the line break before it.
    if not measure.tokenizer.additive or any(_has_slash_line(message.content) for message in messages):
        counted = count_whole(messages, measure.tokenizer)
        tokens_by_owner["immediate"] = tokens_by_owner.get("immediate", 0) + counted - total
        total = counted
    total += attachment_tokens + overhead
    digest = hashes[0] if len(hashes) == 1 else prefix_hash(hashes)
    return RenderedPrompt(messages, total, tokens_by_owner, overhead, attachment_tokens, digest)


def _has_slash_line(text: str) -> bool:
    return "/" in text and "\n/" in text  # searching for one character is much faster


def group_slots(slots: Sequence[Slot], recipe: Recipe, measure: Measure) -> list[list[Slot]]:
    """The slots of each message: merged by role, or made to alternate, as the recipe asks."""
    if recipe.merge_system:
        system = [slot for slot in slots if slot.role == "system"]
        slots = [*system, *(slot for slot in slots if slot.role != "system")]
    if recipe.alternate:
        slots = _alternate(slots, measure)
    if recipe.merge_same_role or recipe.alternate:
        return [[*group] for _, group in groupby(slots, _MERGED_BY)]
    groups: list[list[Slot]] = []
    for (role, _), group in groupby(slots, _MERGED_BY):
        if role == "system" and recipe.merge_system:
            groups.append([*group])
        else:
            groups += ([slot] for slot in group)
    return groups


def _alternate(slots: Sequence[Slot], measure: Measure) -> list[Slot]:
    """System slots at the head only, the others under the user's role; the user speaks first."""
    head = 0
    while head < len(slots) and slots[head].role == "system":
        head += 1
    turns = [*slots[:head]]
    if head < len(slots) and slots[head].role == "assistant":
        turns.append(Slot("user", "preset", [measure.make_block(measure.phrases.first_turn)]))
    turns += [
        Slot("user", slot.owner, slot.blocks, slot.is_stable) if slot.role == "system" else slot
        for slot in slots[head:]
    ]
    return turns


class _JoinedMessage(Struct, frozen=True):
    message: PromptMessage
    tokens_by_owner: list[tuple[str, int]]
    prefix_hash: str  # of what of it belongs to the stable prefix; empty where nothing does
    is_prefix: bool  # all of it does


_SlotPart = tuple[str, bool, tuple[TextBlock, ...]]  # of a slot: its owner, whether it is stable, and its blocks


def _join(role: Role, source: str, parts: Sequence[_SlotPart], tokens_at_end: int, is_prefix: bool) -> _JoinedMessage:
    """Join slots into one message. `is_prefix`: everything before it belongs to the stable prefix.

    `tokens_at_end` is the count of the last block, behind which nothing follows.
    """
    blocks: list[TextBlock] = []
    tokens_by_owner: list[tuple[str, int]] = []
    stable_blocks = 0
    for owner, is_stable, own in parts:
        blocks += own
        tokens_by_owner.append((owner, sum([block.tokens for block in own])))
        is_prefix = is_prefix and is_stable
        if is_prefix:
            stable_blocks = len(blocks)
    tokens_by_owner.append((parts[-1][0], tokens_at_end - blocks[-1].tokens))
    texts = [block.text for block in blocks]
    prefix = "".join(texts[:stable_blocks])
    texts[-1] = texts[-1].rstrip("\n")
    content = "".join(texts)
    message = PromptMessage(role, content, min(len(prefix), len(content)), source=source)
    return _JoinedMessage(message, tokens_by_owner, prefix_hash((role, prefix)) if prefix else "", is_prefix)


_join_once = lru_cache(maxsize=256)(_join)  # of identity, rules and settings, whose blocks come again with each request


def prefix_hash(texts: Sequence[str]) -> str:
    """SHA-256 of the stable prefix: of its bytes and of nothing else."""
    return hashlib.sha256("\x1e".join(texts).encode()).hexdigest()


def count_whole(messages: Sequence[PromptMessage], tokenizer: Tokenizer) -> int:
    """The tokens of the messages, each counted whole; for tokenizers whose counts do not add up."""
    return sum(tokenizer.count(message.content) for message in messages)
