"""Measure: how a fragment is rendered and how many tokens it takes, for one model and language (ctx-13).

Every block ends with its own line break, so the tokens of a message are the sum of the tokens of
its blocks: headings, numbering and separators are part of a block, and nothing is added later.
"""

from __future__ import annotations

from msgspec import Struct

from fabula.context.phrases import Phrases
from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.bounded_cache import BoundedCache
from fabula.text.tokens.models import Model
from fabula.text.tokens.tokenizer import Tokenizer
from fabula.text.windows import BLOCK_SEPARATOR

MAX_LISTS = 256  # rendered lists in the cache
MAX_GROUPS = 1000  # groups of fragments in the cache
CACHED_CHARACTERS = 1_000_000  # of measured fragments, in one generation of the cache


class TextBlock(Struct, frozen=True, eq=False, gc=False):
    """A text as it is rendered, its line break included.

    `tokens_at_end` is its count at the end of a message, where that is known. `last_paragraph` is an offset.
    """

    text: str
    tokens: int
    tokens_at_end: int | None = None
    last_paragraph: int = 0


_NO_BLOCK = TextBlock("", 0)


class MeasuredFragment(Struct, frozen=True, eq=False, gc=False):
    """A fragment as it is rendered, the section it belongs to, and the tokens it adds to the prompt.

    A fragment that becomes a line of a list has an empty block.
    """

    fragment: Fragment
    text: str
    tokens: int
    section: str = ""
    block: TextBlock = _NO_BLOCK
    is_unrestricted: bool = False  # as the fragment is, which needs no gate then
    heading: TextBlock | None = None  # of an earlier message: that of its conversation and day
    line: TextBlock = _NO_BLOCK  # of an earlier message: the block where the next message follows

    @property
    def kind(self) -> str:
        """The kind of thing the fragment comes from: an entry, a passage, a message …"""
        return self.fragment.source.partition(":")[0]

    @property
    def conversation(self) -> tuple[str, str] | None:
        """What an earlier message has in common with those that stand under one heading; None for anything else."""
        return None if self.heading is None else (self.fragment.conversation_id, self.heading.text)


class MeasuredGroup(Struct, frozen=True, eq=False):
    """A tuple of fragments that hold everywhere and for everybody, measured; without pieces where some do not."""

    fragments: tuple[Fragment, ...]
    project_ids: frozenset[str]
    pieces: list[MeasuredFragment] | None
    is_stable: bool  # only rules and settings, none with a placement of its own


class Measure:
    """Measures fragments for one tokenizer and one language, and caches what it measured."""

    __slots__ = (
        *("_fixed", "_groups", "_headings", "_lists"),
        *("headings", "measured", "model", "phrases", "settings_tokens", "tokenizer"),
    )

    def __init__(self, tokenizer: Tokenizer, phrases: Phrases, model: Model) -> None:
        self.tokenizer = tokenizer
        self.phrases = phrases
        self.model = model
        self.measured = BoundedCache[int, MeasuredFragment](CACHED_CHARACTERS)  # by the id of the fragment
        self._groups: dict[int, MeasuredGroup] = {}
        self._lists: dict[tuple[str, tuple[str, ...]], TextBlock] = {}
        self._fixed: dict[str, TextBlock] = {}
        self._headings: dict[str, TextBlock] = {}
        # what a list of settings takes beside its items
        self.settings_tokens = self.count_block(phrases.headings["settings"]) + 1
        self.headings = {name: self._make_line(text) for name, text in phrases.headings.items()}

    def count_block(self, text: str) -> int:
        """The tokens of a text with the blank line behind it."""
        return self.tokenizer.count(text + BLOCK_SEPARATOR)

    def make_block(self, text: str) -> TextBlock:
        """A text with the blank line behind it."""
        return TextBlock(text + BLOCK_SEPARATOR, self.count_block(text))

    def make_fixed_block(self, text: str) -> TextBlock:
        """The block of a text of the project or its preset, which comes again with each request."""
        block = self._fixed.get(text)
        if block is None:
            if len(self._fixed) >= MAX_LISTS:
                self._fixed.clear()
            block = self._fixed[text] = self.make_block(text)
        return block

    def _make_line(self, text: str) -> TextBlock:
        return TextBlock(text + "\n", self._count_line(text))

    def _make_heading(self, text: str) -> TextBlock:
        """The heading of a conversation, which many messages have."""
        block = self._headings.get(text)
        if block is None:
            if len(self._headings) >= MAX_LISTS:
                self._headings.clear()
            block = self._headings[text] = self._make_line(text)
        return block

    def count_at_end(self, block: TextBlock) -> int:
        """The tokens of a block at the end of a message, where its line breaks are stripped."""
        if block.tokens_at_end is not None:
            return block.tokens_at_end
        tail, count = block.text[block.last_paragraph :], self.tokenizer.count
        return count(tail.rstrip("\n")) + (block.tokens - count(tail) if block.last_paragraph else 0)

    def measure_fragment(self, fragment: Fragment, *, not_revealed: bool) -> MeasuredFragment:
        """A fragment as it is rendered; one that is `not_revealed` is marked so.

        Fragments are immutable, so the result is cached by identity. It holds the fragment, whose id stays taken.
        """
        if not_revealed:
            return self._measure(fragment, self.phrases.not_revealed)
        key = id(fragment)
        known = self.measured.recent.get(key)
        if known is not None and known.fragment is fragment:
            return known
        known = self.measured.get_older(key)
        measured = known if known is not None and known.fragment is fragment else self._measure(fragment, "")
        if measured.text and not fragment.is_single_use:
            self.measured.store(key, measured, len(measured.text))
        return measured

    def _measure(self, fragment: Fragment, mark: str) -> MeasuredFragment:
        text, section, count = fragment.text.strip(), section_of(fragment), self.tokenizer.count
        tokens, block, per_message = 0, _NO_BLOCK, self.model.tokens_per_message
        if mark and text:
            text = mark + text.replace(BLOCK_SEPARATOR, BLOCK_SEPARATOR + mark)
        if section == "constraints" or (section == "settings" and fragment.placement is None):  # a line of a list
            text = " ".join(text.split("\n"))
            tokens = count(f"100. {text}\n" if section == "constraints" else f"- {text}\n") if text else 0
        elif text and section in ("history", "instruction"):
            block = TextBlock(text + BLOCK_SEPARATOR, self.count_block(text), count(text))
            tokens = count(text) + per_message if section == "history" else block.tokens
        elif text:
            block = self.make_block(text)
            around = 2 * per_message if fragment.placement is not None else 0  # it may split a message in two
            tokens = block.tokens + around
        if fragment.earlier is None or section != "retrieved" or not text:
            return MeasuredFragment(fragment, text, tokens, section, block, fragment.is_unrestricted)
        heading, line = self._make_heading(fragment.earlier.heading), self._make_line(text)
        return MeasuredFragment(fragment, text, tokens, section, block, fragment.is_unrestricted, heading, line)

    def measure_group(self, fragments: tuple[Fragment, ...]) -> MeasuredGroup:
        """A tuple of fragments, as snapshots hold them: it comes again with each request, and is measured once."""
        group = self._groups.get(id(fragments))
        if group is None or group.fragments is not fragments:
            pieces = None
            if all(fragment.is_unrestricted and fragment.part is not Part.WINDOW for fragment in fragments):
                pieces = [self.measure_fragment(fragment, not_revealed=False) for fragment in fragments]
                pieces = pieces if all(piece.text for piece in pieces) else None
            projects = frozenset(fragment.project_id for fragment in fragments)
            is_stable = pieces is not None and all(map(_is_stable, pieces))
            if len(self._groups) >= MAX_GROUPS:
                self._groups.clear()
            group = self._groups[id(fragments)] = MeasuredGroup(fragments, projects, pieces, is_stable)
        return group

    def make_list(self, section: str, texts: tuple[str, ...]) -> TextBlock:
        """The heading of a section with a line for each text: numbered for constraints, else with a bullet."""
        key = (section, texts)
        block = self._lists.get(key)
        if block is None:
            items = [
                f"{number}. {text}" if section == "constraints" else f"- {text}"
                for number, text in enumerate(texts, start=1)
            ]
            lines = [self.phrases.headings[section], *items]
            upper, last = sum(map(self._count_line, lines[:-1])), lines[-1]
            text = "\n".join(lines) + BLOCK_SEPARATOR
            block = TextBlock(text, upper + self.count_block(last), upper + self.tokenizer.count(last))
            if len(self._lists) >= MAX_LISTS:
                self._lists.clear()
            self._lists[key] = block
        return block

    def _count_line(self, text: str) -> int:
        return self.tokenizer.count(text + "\n")


def _is_stable(piece: MeasuredFragment) -> bool:
    return piece.section in STABLE_SECTIONS and piece.fragment.placement is None


STABLE_SECTIONS = ("constraints", "rules", "settings")
OTHER_SECTIONS = ("retrieved", "scene", "cursor", "after", "editor_state", "history", "instruction")
_SECTIONS_BY_PART = {
    Part.SCENE: "scene",
    Part.CURSOR: "cursor",
    Part.AFTER: "after",
    Part.HISTORY: "history",
    Part.INSTRUCTION: "instruction",
}


def section_of(fragment: Fragment) -> str:
    """The section of the candidates a fragment belongs to, by its layer and part."""
    if fragment.layer is Layer.RULES:
        return "constraints" if fragment.part is Part.CONSTRAINT else "rules"
    if fragment.layer is Layer.IMMEDIATE:
        return _SECTIONS_BY_PART.get(fragment.part, "editor_state")
    return fragment.layer.value
