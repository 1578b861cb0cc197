"""What the property tests draw from: mixed and odd text, fragments of every kind, presets, requests.

Every fragment drawn here carries a tag of its own, such as ⟦7⟧, so that a test can see in the prompt
whether it is there and where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from hypothesis import strategies as st
from splintr import Tokenizer as Vocabulary

from fabula.context import (
    RECIPES,
    Attachment,
    Engine,
    Fragment,
    Injection,
    Layer,
    Message,
    Node,
    Part,
    Placement,
    Preset,
    Recipe,
    Request,
    Result,
    Tier,
)
from fabula.core.fragments import Role

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
lines = st.lists(st.sampled_from(PHRASES) | odd, min_size=1, max_size=5).map("".join)


@st.composite
def texts(draw: st.DrawFn, most: int = 4) -> str:
    """A few paragraphs of anything."""
    found = draw(lines)
    for _ in range(draw(st.integers(0, most - 1))):
        found += draw(st.sampled_from(BREAKS)) + draw(lines)
    return found


@st.composite
def long_texts(draw: st.DrawFn, most: int = 60) -> str:
    """A chapter: a handful of drawn paragraphs over and over, numbered so that no two are alike."""
    some = draw(st.lists(st.tuples(lines, st.sampled_from(BREAKS)), min_size=1, max_size=5))
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
    (Layer.IMMEDIATE, Part.MARK, "mark"),
    (Layer.IMMEDIATE, Part.AFTER, "after"),
    (Layer.IMMEDIATE, Part.DESK, "desk"),
    (Layer.IMMEDIATE, Part.PLAIN, "plain"),
    (Layer.IMMEDIATE, Part.HISTORY, "history"),
    (Layer.IMMEDIATE, Part.HISTORY, "history"),
    (Layer.IMMEDIATE, Part.CLOSING, "closing"),
)
UNCUT = (Part.SCENE, Part.MARK, Part.CLOSING)
scores = st.sampled_from((0.0, 0.2, 0.5, 0.55, 0.79, 0.8, 0.9, 1.0))
roles: st.SearchStrategy[Role] = st.sampled_from(("system", "user", "assistant"))
any_role: st.SearchStrategy[Role | None] = st.sampled_from((None, "system", "user", "assistant"))
placements = st.builds(
    Placement,
    depth=st.none() | st.integers(0, 6),
    anchor=st.none() | st.sampled_from(("chat_history", "rules", "settings", "retrieved", "own", "nowhere")),
    side=st.sampled_from(("before", "after")),
    order=st.sampled_from((0, 50, 100, 200)),
)


@st.composite
def fragment_lists(draw: st.DrawFn, most: int = 14, *, windows: bool = True) -> list[Fragment]:
    """Fragments of every layer and part, each with its own source and tag."""
    found: list[Fragment] = []
    kinds = [kind for kind in _KINDS if windows or kind[1] is not Part.WINDOW]
    for number in range(draw(st.integers(0, most))):
        layer, part, kind = draw(st.sampled_from(kinds))
        large = part in (Part.WINDOW, Part.AFTER, Part.HISTORY, Part.PLAIN) and draw(st.integers(0, 3)) == 0
        body = draw(long_texts() if large else texts())
        front = draw(st.booleans())
        found.append(
            Fragment(
                source=f"{kind}:{number}",
                layer=layer,
                part=part,
                text=f"{tag(number)}{body}" if front else f"{body}{tag(number)}",
                project_id=PROJECT,
                tier=draw(st.sampled_from(list(Tier))),
                score=draw(scores),
                role=draw(any_role),
                placement=draw(st.none() | placements) if layer in (Layer.RETRIEVED, Layer.SETTINGS) else None,
            )
        )
    return found


injections = st.builds(
    Injection,
    depth=st.none() | st.integers(0, 6),
    anchor_target=st.none() | st.sampled_from(("chat_history", "user_profile", "own", "retrieved", "nowhere")),
    anchor_position=st.sampled_from(("before", "after")),
    order=st.sampled_from((0, 50, 100, 200)),
)


@st.composite
def presets(draw: st.DrawFn) -> Preset:
    """Messages in front, between and behind; sometimes a place of one's own; layers as the recipe has them."""
    nodes = [
        Node(
            id=f"m{number}",
            role=draw(roles),
            content=draw(texts(2)),
            enabled=draw(st.sampled_from((True, True, False))),
            injection_strategy=draw(st.none() | injections),
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    if draw(st.booleans()):
        nodes.insert(draw(st.integers(0, len(nodes))), Node(type="placeholder", id="own", content=draw(texts(1))))
    return Preset(nodes=tuple(nodes))


windows = st.one_of(st.integers(1, 400), st.integers(400, 3000), st.integers(3000, 20_000))


@st.composite
def attachments(draw: st.DrawFn) -> tuple[Attachment, ...]:
    """An image or a file or two."""
    return tuple(
        Attachment(
            id=str(number),
            kind=draw(st.sampled_from(("image", "file"))),
            description=draw(st.just("") | texts(1)),
            text=draw(st.just("") | texts(2)),
            reference=draw(st.sampled_from(("", f"https://example.org/{number}.png"))),
            tokens=draw(st.integers(0, 1500)),
        )
        for number in range(draw(st.integers(0, 2)))
    )


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
        preset=draw(st.none() | presets()),
        late_joiners=draw(st.none() | st.booleans()),
        attachments=draw(attachments()),
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
    return inside + sent + len(messages) * model.per_message + model.per_reply


def together(messages: Sequence[Message]) -> str:
    """All that the model will read."""
    return "\n".join(message.content for message in messages)
