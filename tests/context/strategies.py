"""What the property tests draw from: mixed and odd text, fragments of every kind, presets, requests.

Every fragment drawn here carries a tag of its own, such as ⟦7⟧, so that a test can see in the prompt
whether it is there and where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from typing import Literal

from hypothesis import strategies as st
from splintr import Tokenizer as Vocabulary

from fabula.context import (
    RECIPES,
    Attachment,
    Engine,
    Fragment,
    InjectionStrategy,
    Layer,
    Node,
    Part,
    Placement,
    Preset,
    PromptMessage,
    Recipe,
    Request,
    Result,
    Tier,
)
from fabula.core.fragment import Role

PROJECT = "p"
MODELS = ("gpt-4o", "gpt-4", "claude-sonnet-4", "llama-2-7b", "qwen3-8b")
OWN_RECIPES = {
    "apart": Recipe(name="apart", preset=RECIPES["novel"].preset, sources=(), merge_same_role=False),
    "turns": Recipe(name="turns", preset=RECIPES["chat"].preset, sources=(), alternate=True, history_tokens=None),
    "one-system": Recipe(name="one-system", preset=RECIPES["novel"].preset, sources=(), merge_system=True),
}
ALL_RECIPES = {**RECIPES, **OWN_RECIPES}

PHRASES = (
    "The rain had stopped before dawn.",
    "She said nothing; he waited.",
    "“Who is there?” asked Mara.",
    "Dr. No paid $3.50 to J. R. R. Tolkien!",
    "林远推开门，风雪扑面而来。",
    "「你是谁？」她低声问道……",
    "树林远处传来钟声",
    "　　他没有回答。",
    "これは日本語の文です。",
    "한국어 문장입니다.",
    "👩‍👩‍👧‍👦",
    "🏳️‍🌈🔥",
    "e\u0301a\u0308\u0323o",
    "شيء ما",
    "\u200b\u200d",
    "\ufeff",
    "<|endoftext|>",
    "<s>[INST]",
    "/",
    "//looks like a comment",
    "/ooc",
    "- item",
    "12. twelfth",
    "1234567890",
    "    indented",
    "\ttabbed",
    "   ",
    "　",
    "\u00a0",
    "\u2028",
    "\x85",
    "\x0b",
    "\x00",
    "don't",
    "http://example.org/a/b?c=d",
    "antidisestablishmentarianism" * 8,
    "字" * 60,
    "ab/" * 20,
    "!!!???",
    "***",
    "\\n",
    "Aa1！Ｂ２",
)
BREAKS = ("\n", "\n\n", "\n", "\n\n\n", "\n　　", "\n /", "\n/", " \n", "\n \n", "\n\t", "\n\u00a0\n", "\n　\n")
odd_characters = st.characters(exclude_categories=["Cs"], exclude_characters="\r⟦⟧")
odd = st.text(odd_characters, max_size=8)
# Drawing costs far more than what is tested with it, and a string is drawn at once: a letter stands for each phrase.
letters = st.text("".join(map(chr, range(len(PHRASES)))), max_size=5)


def _line(spelled: str, strange: str) -> str:
    """The phrases that letters stand for, and something odd between them, before or behind."""
    found = [PHRASES[ord(letter)] for letter in spelled]
    found.insert(sum(map(ord, spelled)) % (len(found) + 1), strange)
    return "".join(found)


# Made once, here and below: a strategy that is made while drawing is looked through anew each time.
lines = st.builds(_line, letters, odd)
breaks = st.sampled_from(BREAKS)
stretches = st.lists(st.tuples(lines, breaks), min_size=1, max_size=5)


@st.composite
def texts(draw: st.DrawFn, most: int = 4) -> str:
    """A few paragraphs of anything."""
    found = draw(lines)
    for _ in range(draw(st.integers(0, most - 1))):
        found += draw(breaks) + draw(lines)
    return found


@st.composite
def long_texts(draw: st.DrawFn, most: int = 60) -> str:
    """A chapter: a handful of drawn paragraphs over and over, numbered so that no two are alike."""
    some = draw(stretches)
    times = draw(st.integers(1, most))
    return "".join(f"{line}{at}.{stop}" for at in range(times) for line, stop in some)


plain_sentences = st.sampled_from(PHRASES[:6])


@st.composite
def tame_texts(draw: st.DrawFn, least: int = 1, most: int = 40) -> str:
    """Ordinary prose in short paragraphs, for tests that are about sums and not about characters."""
    sentence = draw(plain_sentences)
    return "\n".join(f"{sentence} ({at})" for at in range(draw(st.integers(least, most))))


def tag(number: int) -> str:
    """What marks the text of one fragment."""
    return f"⟦{number}⟧"


def tags_in(text: str) -> list[str]:
    """All tags of a prompt, in order."""
    return re.findall("⟦[^⟦⟧]*⟧", text)


_KINDS: tuple[tuple[Layer, Part, str], ...] = (
    (Layer.RULES, Part.CONSTRAINT, "constraint"),
    (Layer.RULES, Part.PLAIN, "rule"),
    (Layer.SETTINGS, Part.PLAIN, "memory"),
    (Layer.RETRIEVED, Part.PLAIN, "codex"),
    (Layer.RETRIEVED, Part.PLAIN, "search"),
    (Layer.IMMEDIATE, Part.SCENE, "scene"),
    (Layer.IMMEDIATE, Part.WINDOW, "editor"),
    (Layer.IMMEDIATE, Part.CURSOR, "mark"),
    (Layer.IMMEDIATE, Part.AFTER, "after"),
    (Layer.IMMEDIATE, Part.EDITOR_STATE, "desk"),
    (Layer.IMMEDIATE, Part.PLAIN, "plain"),
    (Layer.IMMEDIATE, Part.HISTORY, "history"),
    (Layer.IMMEDIATE, Part.HISTORY, "history"),
    (Layer.IMMEDIATE, Part.INSTRUCTION, "closing"),
)
UNCUT = (Part.SCENE, Part.CURSOR, Part.INSTRUCTION)
all_kinds = st.sampled_from(_KINDS)
kinds_without_window = st.sampled_from([kind for kind in _KINDS if kind[1] is not Part.WINDOW])
quarters = st.integers(0, 3)
pages, chapters = texts(), long_texts()
SCORES = (0.0, 0.2, 0.5, 0.55, 0.79, 0.8, 0.9, 1.0)
ROLES: tuple[Role, ...] = ("system", "user", "assistant")
scores = st.sampled_from(SCORES)
roles = st.sampled_from(ROLES)
DEPTHS = (*(None,) * 7, *range(7))  # as often one as the other
SIDES: tuple[Literal["before", "after"], ...] = ("before", "after")
ORDERS = (0, 50, 100, 200)
PLACES = (None, "chat_history", None, "rules", None, "settings", None, "retrieved", None, "own", None, "nowhere")
placements = st.sampled_from(
    [
        Placement(depth=depth, anchor=anchor, side=side, order=order)
        for depth, anchor, side, order in product(DEPTHS, PLACES, SIDES, ORDERS)
    ]
)
any_placement = st.none() | placements
# Where the tag stands, the tier, the score and the role, in one draw.
looks = st.sampled_from(list(product((False, True), Tier, SCORES, (None, *ROLES))))


@st.composite
def fragment_lists(draw: st.DrawFn, most: int = 14, *, windows: bool = True) -> list[Fragment]:
    """Fragments of every layer and part, each with its own source and tag."""
    found: list[Fragment] = []
    kinds = all_kinds if windows else kinds_without_window
    for number in range(draw(st.integers(0, most))):
        layer, part, kind = draw(kinds)
        large = part in (Part.WINDOW, Part.AFTER, Part.HISTORY, Part.PLAIN) and draw(quarters) == 0
        body = draw(chapters if large else pages)
        front, tier, score, role = draw(looks)
        found.append(
            Fragment(
                source=f"{kind}:{number}",
                layer=layer,
                part=part,
                text=f"{tag(number)}{body}" if front else f"{body}{tag(number)}",
                project_id=PROJECT,
                tier=tier,
                score=score,
                role=role,
                placement=draw(any_placement) if layer in (Layer.RETRIEVED, Layer.SETTINGS) else None,
            )
        )
    return found


TARGETS = (None, "chat_history", None, "user_profile", None, "own", None, "retrieved", None, "nowhere")
injections = st.sampled_from(
    [
        InjectionStrategy(depth=depth, anchor_target=target, anchor_position=side, order=order)
        for depth, target, side, order in product(DEPTHS, TARGETS, SIDES, ORDERS)
    ]
)
any_injection = st.none() | injections
short, shortest = texts(2), texts(1)
mostly = st.sampled_from((True, True, False))


@st.composite
def presets(draw: st.DrawFn) -> Preset:
    """Messages in front, between and behind; sometimes a place of one's own; layers as the recipe has them."""
    nodes = [
        Node(
            id=f"m{number}",
            role=draw(roles),
            content=draw(short),
            enabled=draw(mostly),
            injection_strategy=draw(any_injection),
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    if draw(st.booleans()):
        nodes.insert(draw(st.integers(0, len(nodes))), Node(type="placeholder", id="own", content=draw(shortest)))
    return Preset(nodes=tuple(nodes))


windows = st.one_of(st.integers(1, 400), st.integers(400, 3000), st.integers(3000, 20_000))

descriptions, contents = st.just("") | shortest, st.just("") | short


@st.composite
def attachments(draw: st.DrawFn) -> tuple[Attachment, ...]:
    """An image or a file or two."""
    return tuple(
        Attachment(
            id=str(number),
            kind=draw(st.sampled_from(("image", "file"))),
            description=draw(descriptions),
            text=draw(contents),
            reference=draw(st.sampled_from(("", f"https://example.org/{number}.png"))),
            tokens=draw(st.integers(0, 1500)),
        )
        for number in range(draw(st.integers(0, 2)))
    )


any_preset, any_attachments, perhaps = st.none() | presets(), attachments(), st.none() | st.booleans()


@st.composite
def requests(draw: st.DrawFn, *, recipes: Sequence[str] = tuple(ALL_RECIPES)) -> Request:
    """Any model, window, recipe and preset."""
    window = draw(windows)
    return Request(
        project_id=PROJECT,
        document_id="d",
        model=draw(st.sampled_from(MODELS)),
        window=window,
        reply_tokens=draw(st.none() | st.integers(0, min(200, window - 1))),
        recipe=draw(st.sampled_from(list(recipes))),
        preset=draw(any_preset),
        late_joiners=draw(perhaps),
        attachments=draw(any_attachments),
    )


def engine() -> Engine:
    """An engine that knows the recipes of these tests as well."""
    return Engine(recipes=ALL_RECIPES)


@lru_cache(maxsize=32)
def _encode(name: str) -> Callable[[str], list[int]]:
    return Vocabulary.from_pretrained(name).encode_ordinary


def plain_count(name: str, text: str) -> int:
    """How many tokens a text is: the published vocabulary on the whole text, with nothing of ours around it."""
    return len(_encode(name)(text))


def recount(request: Request, result: Result) -> int:
    """The messages as sent, counted whole, with what the model's own format and images add to them."""
    model, messages = result.model, result.messages
    inside = sum(plain_count(model.encoding, message.content) for message in messages)
    images = {item.reference: item.tokens for item in request.attachments}
    sent = sum(images[reference] for message in messages for reference in message.attachments)
    added = sum(bool(message.attachments) and message.role != "user" for message in messages)  # a turn of their own
    overhead = (len(messages) + added) * model.tokens_per_message + model.tokens_per_reply
    is_without_system = all(message.role != "system" for message in messages)
    return inside + sent + overhead + (model.default_system_tokens if is_without_system else 0)


def together(messages: Sequence[PromptMessage]) -> str:
    """All that the model will read."""
    return "\n".join(message.content for message in messages)
