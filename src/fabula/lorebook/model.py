"""The types of lorebooks: entries, the input of a scan and its result (inj-6, inj-7).

A field that the file does not have is `None` and stays so, because the presence of a field can
decide something. The JSON names are those of SillyTavern's world info. A scan depends only on its
arguments: timed effects go in as a value and come out as a value. Every entry gets a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

from msgspec import Struct

from fabula.core.messages import Sentence, message

Number = int | float
BookSource = Literal["chat", "persona", "character", "global"]


class EntryRef(NamedTuple):
    """A reference to one entry: the book and the uid in it."""

    book: str
    uid: int

    def __str__(self) -> str:
        return f"{self.book}.{self.uid}"


class CharacterFilter(Struct, frozen=True, rename="camel"):
    """The characters, by name and tag, for which an entry may or may not become active."""

    is_exclude: bool | None = None
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class StoryLimits(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """From which document on, up to which document and to whom an entry may be revealed.

    This is Fabula's own. A file has it in `extensions.fabula.story`, which other programs ignore.
    """

    since: str | None = None
    until: str | None = None
    known_to: tuple[str, ...] | None = None


class CardCharacter(Struct, frozen=True, kw_only=True):
    """The character that a character card describes."""

    name: str = ""
    tags: tuple[str, ...] = ()
    description: str = ""
    personality: str = ""
    scenario: str = ""
    creator_notes: str = ""
    depth_prompt: str = ""


class LoreEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lorebook entry with every field that decides something; `None` where the file does not have the field."""

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
    story: StoryLimits | None = None

    @property
    def recursion_level(self) -> Number:
        """The recursion level from which the entry may become active; 0 if it does not wait for recursion."""
        return self.delay_until_recursion or 0


class ParsedLorebook(Struct, frozen=True):
    """A lorebook with its entries in the order of the file; made by `parse_book`."""

    name: str
    entries: tuple[LoreEntry, ...]
    source: BookSource = "global"
    title: str = ""  # what a person calls it, where `name` is an id


class LorebookSettings(Struct, frozen=True, kw_only=True):
    """How books are scanned; the defaults are those of SillyTavern's code, not of the settings it ships with."""

    depth: Number = 2
    budget: Number = 25  # per cent of the context
    budget_cap: Number = 0  # tokens; 0: no cap
    include_names: bool = True
    recursive: bool = False
    case_sensitive: bool = False
    match_whole_words: bool = False
    use_group_scoring: bool = False
    character_strategy: int = 1  # 0 evenly, 1 character first, 2 global first
    min_activations: Number = 0
    min_activations_depth_max: Number = 0
    max_recursion_steps: Number = 0


class LorebookContents(Struct, frozen=True):
    """A parsed lorebook with its settings, the warnings, and the character of its card."""

    book: ParsedLorebook
    settings: LorebookSettings
    warnings: tuple[Sentence, ...] = ()
    card_character: CardCharacter | None = None


class ScanMessage(Struct, frozen=True):
    """A message of the conversation in which keys are matched."""

    name: str
    text: str


class ScanContext(Struct, frozen=True, kw_only=True):
    """What a scan depends on besides books, messages and settings."""

    max_context: Number = 4096
    user: str = ""
    character: CardCharacter = CardCharacter()
    trigger: str = "normal"  # the kind of request
    persona: str = ""  # the description of the user
    extra_texts: tuple[str, ...] = ()  # more texts in which keys are matched
    forced: frozenset[EntryRef] = frozenset()  # entries that the caller activates
    has_author_note: bool = True
    dry_run: bool = False


class TimedEffect(Struct, frozen=True):
    """A timed effect that runs over [start, end) messages; `hash` is that of the entry when it started."""

    hash: str
    start: int
    end: Number
    protected: bool = False


class TimedEffects(Struct, frozen=True):
    """All running timed effects, by `book.uid`."""

    sticky: Mapping[str, TimedEffect] = {}
    cooldown: Mapping[str, TimedEffect] = {}


class LorebookReason(StrEnum):
    """Why an entry is active or not, with a sentence for each; later ones are checked later."""

    sentence: Sentence

    def __new__(cls, code: str, sentence: Sentence) -> LorebookReason:
        """Make a reason that is stored and compared by its code."""
        reason = str.__new__(cls, code)
        reason._value_, reason.sentence = code, sentence
        return reason

    CONSTANT = "CONSTANT", message("it is always on")
    KEY = "KEY", message("a key was found")
    STICKY = "STICKY", message("it was active a few messages ago and stays")
    DECORATOR = "DECORATOR", message("its text says @@activate")
    EXTERNAL = "EXTERNAL", message("the request includes it by name")

    NOT_SCANNED = "NOT_SCANNED", message("no pass was run")
    DISABLED = "DISABLED", message("it is switched off")
    TRIGGER = "TRIGGER", message("it is not for this kind of request")
    CHARACTER = "CHARACTER", message("it is not for this character")
    DELAY = "DELAY", message("the conversation is still too short for it")
    COOLDOWN = "COOLDOWN", message("it was active a few messages ago and rests")
    AWAITS_RECURSION = "AWAITS_RECURSION", message("it waits for the text of other entries")
    EXCLUDES_RECURSION = "EXCLUDES_RECURSION", message("the text of other entries does not activate it")
    FORBIDDEN = "FORBIDDEN", message("its text says @@dont_activate")
    NO_KEYS = "NO_KEYS", message("it has no key")
    NO_DEPTH = "NO_DEPTH", message("it reads no message")
    NOT_MENTIONED = "NOT_MENTIONED", message("none of its keys was found")
    SECONDARY = "SECONDARY", message("a key was found, but its secondary keys did not agree")
    GROUP_STICKY = "GROUP_STICKY", message("a member of its group is sticky")
    GROUP_COOLDOWN = "GROUP_COOLDOWN", message("in a group, a resting entry stays out even when it is sticky")
    GROUP_SCORE = "GROUP_SCORE", message("a member of its group matched more keys")
    GROUP_TAKEN = "GROUP_TAKEN", message("its group already has an active entry")
    GROUP_OVERRIDE = "GROUP_OVERRIDE", message("a member of its group goes first")
    GROUP_ROLL = "GROUP_ROLL", message("another member of its group was drawn")
    LOST_NEIGHBOUR = (
        "LOST_NEIGHBOUR",
        message("an entry lost in two groups, and SillyTavern then drops the last candidate as well"),
    )
    DISPLACED = "DISPLACED", message("a member of its group was mentioned later and took its place")
    PROBABILITY = "PROBABILITY", message("the draw by its probability failed")
    OVER_BUDGET = "OVER_BUDGET", message("it did not fit into the rest of the book's budget")
    AFTER_OVERFLOW = (
        "AFTER_OVERFLOW",
        message("an entry before it exceeded the book's budget, which ends the selection"),
    )
    NO_PLACE = "NO_PLACE", message("it became active, but has no place in the prompt")


class EntryVerdict(Struct, frozen=True):
    """The result of a scan for one entry: active or not, and why."""

    ref: EntryRef
    title: str
    active: bool
    reason: LorebookReason
    detail: Sentence | str = ""
    pass_number: int = 0  # the pass that decided, from 1


class DepthBlock(Struct, frozen=True):
    """Texts at the same depth of the history and with the same role; `depth` is None where the file has none."""

    depth: Number | None
    role: int
    texts: tuple[str, ...]


class ExampleText(Struct, frozen=True):
    """A text above (0) or below (1) the example messages."""

    position: int
    content: str


class PlacedTexts(Struct, frozen=True, kw_only=True):
    """The texts of active entries at the positions that SillyTavern knows."""

    before: str
    after: str
    depth: tuple[DepthBlock, ...]
    note_top: tuple[str, ...]
    note_bottom: tuple[str, ...]
    examples: tuple[ExampleText, ...]
    outlets: Mapping[str, tuple[str, ...]]


class Activation(Struct, frozen=True, kw_only=True):
    """The result of a scan."""

    rules: str  # the name of the rule set
    active: tuple[EntryRef, ...]  # in the order of activation
    texts: PlacedTexts
    verdicts: tuple[EntryVerdict, ...]
    problems: tuple[Sentence, ...]  # keys that could not be used as they are written
    timed_effects: TimedEffects
    budget: int
    used: int

    @property
    def active_uids(self) -> tuple[int, ...]:
        """The uids of the active entries in the order of activation."""
        return tuple(ref.uid for ref in self.active)
