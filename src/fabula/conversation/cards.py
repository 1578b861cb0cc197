"""Character cards as conversations use them: what is told of a character, to whom, and how they greet (inj-3, ctx-3).

The card itself, with every field of its file, is kept with its lorebook. A participant names it, and the view holds
its texts by participant. The public parts (description, personality, scenario) are known to everybody who is present;
the examples, the system prompt, the depth prompt and the instructions behind the history to the character alone. The
notes of the creator are for people and reach no prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.preset_macros import CHANGING_DEPTH
from fabula.conversation.model import GREETING, Message
from fabula.conversation.participants import strip_revision
from fabula.core.fragment import Fragment, Layer, Placement, Role
from fabula.core.messages import Sentence, message
from fabula.text.macros import MacroExpander, is_changing, split_at_macros

DEFAULT_DEPTH = 4  # of a depth prompt
DEFAULT_TALKATIVENESS = 0.5
CHARACTER_ANCHOR, HISTORY_ANCHOR = "character", "chat_history"
EXAMPLES_FIRST = 200  # the order of examples where other texts stand at the same place
EXAMPLE_SCORE = 0.1  # below every other fragment that was retrieved: examples are given up first
_PART_NAMES = {
    "description": message("description"),
    "personality": message("personality"),
    "scenario": message("scenario"),
    "depth": message("depth prompt"),
    "post-history": message("instructions behind the history"),
    "system": message("system prompt"),
    "persona": message("persona"),
}
_START = re.compile(r"^[ \t]*<START>[ \t]*$", re.IGNORECASE | re.MULTILINE)
_CACHED_FRAGMENTS = 1024


class CardTexts(Struct, frozen=True, kw_only=True):
    """What a character card says."""

    name: str = ""
    nickname: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_message: str = ""
    alternate_greetings: tuple[str, ...] = ()
    group_greetings: tuple[str, ...] = ()
    examples: str = ""
    system_prompt: str = ""
    post_history: str = ""
    depth_prompt: str = ""
    depth: int = DEFAULT_DEPTH
    depth_role: Role = "system"
    creator_notes: str = ""
    talkativeness: float = DEFAULT_TALKATIVENESS  # how often they speak unasked, from 0 to 1

    @property
    def is_described(self) -> bool:
        """Whether the card says anything that everybody may know of the character."""
        return any(text.strip() for text in (self.description, self.personality, self.scenario))

    def list_greetings(self, *, in_group: bool) -> list[str]:
        """List the messages that can begin a conversation, the usual one first."""
        texts = (*(self.group_greetings if in_group else ()), self.first_message, *self.alternate_greetings)
        return list(dict.fromkeys(text for text in texts if text.strip()))

    def find_text(self, name: str) -> str | None:
        """Return the public part that a macro names; None for every other macro."""
        public = {"description": self.description, "personality": self.personality, "scenario": self.scenario}
        return public.get(name)


class Cards(Struct, frozen=True):
    """A snapshot of the cards of participants, by the participant's id."""

    by_participant: Mapping[str, CardTexts] = {}

    def is_greeting(self, said: Message) -> bool:
        """Return whether a message is the greeting of a card, which begins every conversation.

        An older version did not mark greetings, and chat files do not. Such a one is the first message of its
        conversation, and has the text of a greeting of its speaker's card.
        """
        if said.extra.get(GREETING):
            return True
        if said.parent_id is not None or said.role != "assistant" or not said.speaker:
            return False
        card = self.by_participant.get(strip_revision(said.speaker))
        return card is not None and any(has_text_of(said.content, one) for one in card.list_greetings(in_group=True))


def has_text_of(text: str, template: str) -> bool:
    """Return whether a text can be a template with its macros filled in. At least half of it is not from macros."""
    first, *others = map(_join_words, split_at_macros(template))
    found = _join_words(text)
    if not others:
        return found == first
    *middle, last = others
    written = (first, *middle, last)
    if not found.startswith(first) or not found.endswith(last) or 2 * sum(map(len, written)) < len(found):
        return False
    place, end = len(first), len(found) - len(last)
    for piece in middle:
        place = found.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return place <= end and any(written)


def _join_words(text: str) -> str:
    return " ".join(text.split())


class CardOwner(Struct, frozen=True):
    """Whose card it is: the id, the name before the lines, the one that `{{char}}` means, the card, and who knows it.

    Headings have the name before the lines, so that whoever reads a prompt sees whose card it is.
    """

    id: str
    name: str
    char: str
    card: CardTexts
    listeners: frozenset[str]


def offer_public_parts(
    owner: CardOwner, project_id: str, language: str, macros: MacroExpander, *, is_named: bool
) -> Iterable[Fragment]:
    """Offer what everybody present may know of a character, at the anchor `character`.

    The texts are the same whoever speaks. A text that changes with each request stands before the newest message.
    """
    card, name = owner.card, owner.name
    description, personality, scenario = (
        macros.expand(raw.strip(), char=owner.char, find_text=card.find_text).strip()
        for raw in (card.description, card.personality, card.scenario)
    )
    texts = (
        add_name(name, description, language) if description and is_named else description,
        message("[{name}'s personality: {text}]", name=name, text=personality).render(language) if personality else "",
        _describe_scenario(scenario, name if is_named else "").render(language) if scenario else "",
    )
    for part, text in zip(("description", "personality", "scenario"), texts, strict=True):
        if text:
            yield make_part(
                f"card:{owner.id}#{part}",
                text,
                project_id,
                name_part(owner, part, language),
                place_stably(getattr(card, part), Placement(anchor=CHARACTER_ANCHOR)),
                owner.listeners,
                message("the card of somebody who takes part"),
            )


def add_name(name: str, text: str, language: str) -> str:
    """Return a description under the name of whom it describes."""
    return message("[{name}]\n{text}", name=name, text=text).render(language)


def _describe_scenario(text: str, name: str) -> Sentence:
    """Say in which circumstances a conversation takes place, and according to whose card where several tell of it."""
    if name:
        return message("[Circumstances of the conversation, by the card of {name}: {text}]", name=name, text=text)
    return message("[Circumstances of the conversation: {text}]", text=text)


def offer_own_parts(
    owner: CardOwner, project_id: str, language: str, macros: MacroExpander, *, end: Placement | None
) -> Iterable[Fragment]:
    """Offer what only the character who speaks is told: examples, depth prompt, instructions behind the history.

    Where an `end` is given, among several, none of it stands further from the end than there.
    """
    card, name, own = owner.card, owner.name, frozenset({owner.id})
    heading = message("[An example of how {name} speaks]", name=name).render(language)
    examples = split_examples(card.examples)
    for number, raw in enumerate(examples):
        text = macros.expand(raw, char=owner.char, find_text=card.find_text).strip()
        order = EXAMPLES_FIRST - number
        if end is None:
            placement = place_stably(raw, Placement(anchor=HISTORY_ANCHOR, side="before", order=order))
        else:
            placement = replace(end, order=order)
        yield make_part(
            f"card:{owner.id}#example-{number + 1}",
            f"{heading}\n{text}",
            project_id,
            _name_example(owner, number + 1, language),
            placement,
            own,
            message("an example dialogue of the card of who speaks next"),
            layer=Layer.RETRIEVED,
            score=EXAMPLE_SCORE * (1 - number / len(examples)),
        )
    at_depth = Placement(depth=card.depth)
    if end is not None and card.depth >= (end.depth or 0):
        at_depth = end
    texts: tuple[tuple[str, str, Placement, Role, Sentence], ...] = (
        (
            "depth",
            card.depth_prompt,
            at_depth,
            card.depth_role,
            message("the depth prompt of the card of who speaks next"),
        ),
        (
            "post-history",
            card.post_history,
            Placement(depth=0),
            "system",
            message("the card's instructions behind the history"),
        ),
    )
    for part, raw, at, role, explanation in texts:
        text = macros.expand(raw.strip(), char=owner.char, original="", find_text=card.find_text).strip()
        if text:
            yield make_part(
                f"card:{owner.id}#{part}",
                text,
                project_id,
                name_part(owner, part, language),
                at,
                own,
                explanation,
                role=role,
            )


def name_part(owner: CardOwner, part: str, language: str) -> str:
    """Return the title of a part of a card: whose it is, and which part."""
    return message("{name} ({remark})", name=owner.name, remark=_PART_NAMES[part]).render(language)


def _name_example(owner: CardOwner, number: int, language: str) -> str:
    remark = message("example {number}", number=number)
    return message("{name} ({remark})", name=owner.name, remark=remark).render(language)


def split_examples(text: str) -> list[str]:
    """Split example dialogues at the lines `<START>`."""
    return [block for piece in _START.split(text) if (block := piece.strip())]


def place_stably(raw: str, placement: Placement) -> Placement:
    """Return the place of a text, or one before the newest message where its macros change with each request."""
    return Placement(depth=CHANGING_DEPTH) if is_changing(raw) else placement


@lru_cache(maxsize=_CACHED_FRAGMENTS)
def make_part(
    source: str,
    text: str,
    project_id: str,
    title: str,
    placement: Placement,
    known_to: frozenset[str],
    explanation: Sentence,
    *,
    role: Role | None = None,
    layer: Layer = Layer.SETTINGS,
    score: float = 1.0,
) -> Fragment:
    """Make the fragment of a part of a card or the like; cached, because most requests need the same ones."""
    return Fragment(
        source=source,
        layer=layer,
        text=text,
        project_id=project_id,
        title=title,
        score=score,
        role=role,
        placement=placement,
        known_to=known_to,
        explanation=explanation,
    )
