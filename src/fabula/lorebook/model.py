"""Books of lore, and what became of each entry.

A book is kept as it came: a field that is absent stays absent (`None`), because whether a field is
there decides things of its own. Field names on the outside are those of a world book's file.
Whatever a scan needs is in its arguments and whatever it decides is in its result: the timed
effects too go in as a value and come out as a value, and every entry gets a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

from msgspec import Struct, field

Number = int | float
Source = Literal["chat", "persona", "character", "global"]


class Ref(NamedTuple):
    """One entry among all books."""

    book: str
    uid: int

    def __str__(self) -> str:
        return f"{self.book}.{self.uid}"


class CharacterFilter(Struct, frozen=True, rename="camel"):
    """For whom an entry is, or is not."""

    is_exclude: bool | None = None
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class Story(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Where in the story an entry may be told (from the beginning of a document, up to that of another), and to whom.

    Ours alone: in a file it stands in `extensions.fabula.story`, which other programs pass over.
    """

    since: str | None = None
    until: str | None = None
    known_to: tuple[str, ...] | None = None


class About(Struct, frozen=True, kw_only=True):
    """Who the card is about that a book came with."""

    name: str = ""
    tags: tuple[str, ...] = ()
    description: str = ""
    personality: str = ""
    scenario: str = ""
    creator_notes: str = ""
    depth_prompt: str = ""


class LoreEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry with every field that decides something; `None` is a field the file does not have."""

    uid: int
    key: tuple[str, ...] | None = None
    keysecondary: tuple[str, ...] | None = None
    comment: str | None = None
    content: str | None = None
    constant: bool | None = None
    selective: bool | None = None
    selective_logic: int | None = None
    order: Number | None = None
    position: int | None = None
    depth: Number | None = None
    role: int | None = None
    outlet_name: str | None = None
    disable: bool | None = None
    probability: Number | None = None
    use_probability: bool | None = None
    ignore_budget: bool | None = None
    exclude_recursion: bool | None = None
    prevent_recursion: bool | None = None
    delay_until_recursion: bool | Number | None = None
    scan_depth: Number | None = None
    case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    use_group_scoring: bool | None = None
    group: str | None = None
    group_override: bool | None = None
    group_weight: Number | None = None
    sticky: Number | None = None
    cooldown: Number | None = None
    delay: Number | None = None
    triggers: tuple[str, ...] | None = None
    character_filter: CharacterFilter | None = None
    match_persona_description: bool | None = None
    match_character_description: bool | None = None
    match_character_personality: bool | None = None
    match_character_depth_prompt: bool | None = None
    match_scenario: bool | None = None
    match_creator_notes: bool | None = None
    story: Story | None = None

    @property
    def level(self) -> Number:
        """From which delay level on it may enter; 0 when it need not wait for recursion."""
        return self.delay_until_recursion or 0


class Book(Struct, frozen=True):
    """A book of lore, its entries in the order of the file; made with `read_book`."""

    name: str
    entries: tuple[LoreEntry, ...]
    source: Source = "global"


class Settings(Struct, frozen=True, kw_only=True):
    """How books are read; the defaults are those of SillyTavern's code, not of the settings it ships."""

    depth: Number = 2
    budget: Number = 25  # per cent of the context
    budget_cap: Number = 0
    include_names: bool = True
    recursive: bool = False
    case_sensitive: bool = False
    match_whole_words: bool = False
    use_group_scoring: bool = False
    character_strategy: int = 1  # 0 evenly, 1 character first, 2 global first
    min_activations: Number = 0
    min_activations_depth_max: Number = 0
    max_recursion_steps: Number = 0


class Said(Struct, frozen=True):
    """One message of the conversation."""

    name: str
    text: str


class Scene(Struct, frozen=True, kw_only=True):
    """What a scan knows besides the conversation."""

    max_context: Number = 4096
    user: str = ""
    character: str = ""
    tags: tuple[str, ...] = ()
    trigger: str = "normal"
    persona: str = ""
    description: str = ""
    personality: str = ""
    depth_prompt: str = ""
    scenario: str = ""
    creator_notes: str = ""
    scanned: tuple[str, ...] = ()  # prompts of extensions that asked to be scanned
    external: frozenset[Ref] = frozenset()  # entries somebody outside activates
    note: bool = True  # whether there is an author's note to stand beside
    dry_run: bool = False


class Effect(Struct, frozen=True):
    """A timed effect over [start, end) messages, of the entry as it then was."""

    hash: str
    start: int
    end: Number
    protected: bool = False


class Timed(Struct, frozen=True):
    """All timed effects that run, by `book.uid`."""

    sticky: Mapping[str, Effect] = {}
    cooldown: Mapping[str, Effect] = {}


class Reason(StrEnum):
    """Why an entry is in or out; what each says to a person is in `EXPLAINED`."""

    CONSTANT = "CONSTANT"
    KEY = "KEY"
    STICKY = "STICKY"
    DECORATOR = "DECORATOR"
    EXTERNAL = "EXTERNAL"

    NOT_SCANNED = "NOT_SCANNED"
    DISABLED = "DISABLED"
    TRIGGER = "TRIGGER"
    CHARACTER = "CHARACTER"
    DELAY = "DELAY"
    COOLDOWN = "COOLDOWN"
    AWAITS_RECURSION = "AWAITS_RECURSION"
    EXCLUDES_RECURSION = "EXCLUDES_RECURSION"
    FORBIDDEN = "FORBIDDEN"
    NO_KEYS = "NO_KEYS"
    NO_DEPTH = "NO_DEPTH"
    NOT_MENTIONED = "NOT_MENTIONED"
    SECONDARY = "SECONDARY"
    GROUP_STICKY = "GROUP_STICKY"
    GROUP_COOLDOWN = "GROUP_COOLDOWN"
    GROUP_SCORE = "GROUP_SCORE"
    GROUP_TAKEN = "GROUP_TAKEN"
    GROUP_OVERRIDE = "GROUP_OVERRIDE"
    GROUP_ROLL = "GROUP_ROLL"
    LOST_NEIGHBOUR = "LOST_NEIGHBOUR"
    DISPLACED = "DISPLACED"
    PROBABILITY = "PROBABILITY"
    OVER_BUDGET = "OVER_BUDGET"
    AFTER_OVERFLOW = "AFTER_OVERFLOW"


EXPLAINED: dict[Reason, str] = {
    Reason.CONSTANT: "it is always on",
    Reason.KEY: "a key was found",
    Reason.STICKY: "it was active a few messages ago and stays",
    Reason.DECORATOR: "its text says @@activate",
    Reason.EXTERNAL: "it was activated from outside",
    Reason.NOT_SCANNED: "no pass was run",
    Reason.DISABLED: "it is switched off",
    Reason.TRIGGER: "it is not for this kind of request",
    Reason.CHARACTER: "it is not for this character",
    Reason.DELAY: "the conversation is too short for it yet",
    Reason.COOLDOWN: "it was active a few messages ago and rests",
    Reason.AWAITS_RECURSION: "it waits for the text of other entries",
    Reason.EXCLUDES_RECURSION: "it is not woken by the text of other entries",
    Reason.FORBIDDEN: "its text says @@dont_activate",
    Reason.NO_KEYS: "it has no key",
    Reason.NO_DEPTH: "it looks at no message",
    Reason.NOT_MENTIONED: "none of its keys was found",
    Reason.SECONDARY: "a key was found, but the secondary keys said no",
    Reason.GROUP_STICKY: "a member of its group is sticky",
    Reason.GROUP_COOLDOWN: "in a group, a resting entry stays out even when sticky",
    Reason.GROUP_SCORE: "a member of its group matched more keys",
    Reason.GROUP_TAKEN: "its group already has an active entry",
    Reason.GROUP_OVERRIDE: "a member of its group goes first",
    Reason.GROUP_ROLL: "another member of its group was drawn",
    Reason.LOST_NEIGHBOUR: "an entry lost in two groups, and SillyTavern then drops the last candidate as well",
    Reason.DISPLACED: "a member of its group was mentioned later and took its place",
    Reason.PROBABILITY: "its chance did not come up",
    Reason.OVER_BUDGET: "it did not fit into what was left of the book's budget",
    Reason.AFTER_OVERFLOW: "an entry before it overflowed the book's budget, which ends all normal entries",
}


class Verdict(Struct, frozen=True):
    """What became of one entry, and why."""

    ref: Ref
    title: str
    active: bool
    reason: Reason
    detail: str = ""
    step: int = 0  # the pass that decided, from 1


class DepthBlock(Struct, frozen=True):
    """Texts that stand together at a depth of the history; no depth where the file gives none."""

    depth: Number | None
    role: int
    entries: tuple[str, ...]


class Example(Struct, frozen=True):
    """A text above (0) or below (1) the example messages."""

    position: int
    content: str


class Activation(Struct, frozen=True, kw_only=True):
    """The answer of one scan."""

    rules: str  # which rule set spoke
    chosen: tuple[Ref, ...] = ()
    before: str = ""
    after: str = ""
    depth: tuple[DepthBlock, ...] = ()
    an_top: tuple[str, ...] = ()
    an_bottom: tuple[str, ...] = ()
    em: tuple[Example, ...] = ()
    outlets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    problems: tuple[str, ...] = ()  # keys that could not be used as they are written
    timed: Timed = Timed()
    budget: int = 0
    used: int = 0

    @property
    def activated(self) -> tuple[int, ...]:
        """The uids in the order of activation."""
        return tuple(ref.uid for ref in self.chosen)
