"""Cache breakpoints: where blocks end, and which are marked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.context.render import PromptMessage
from fabula.core.fragment import Role
from fabula.llm.providers.cache_breakpoints import MAX_BREAKPOINTS, MIN_BLOCK_CHARACTERS, split_blocks

ROLES: tuple[Role, ...] = ("system", "user", "assistant")
PARAGRAPHS = [f"Paragraph {number}: " + "words and more words " * 20 for number in range(60)]


def prompt(paragraphs: int, closing: str = "Write on.") -> list[PromptMessage]:
    rules = "Rules stand here. " * 50 + "\n\n"
    text = "\n\n".join(PARAGRAPHS[:paragraphs])
    return [PromptMessage("system", f"{rules}Found.", stable=len(rules)), PromptMessage("user", f"{text}\n\n{closing}")]


def test_blocks_together_are_the_messages() -> None:
    messages = prompt(30)
    blocks = split_blocks(messages)
    for role in ("system", "user"):
        text = "".join(message.content for message in messages if message.role == role)
        assert "".join(block.text for block in blocks if block.role == role) == text


def test_there_are_at_most_four_breakpoints_one_at_the_stable_prefix_and_none_at_the_end() -> None:
    blocks = split_blocks(prompt(60))
    assert sum(block.is_breakpoint for block in blocks) == MAX_BREAKPOINTS
    assert blocks[0].is_breakpoint
    assert not blocks[-1].is_breakpoint


def test_text_that_grows_at_its_end_keeps_every_block_before() -> None:
    before, after = split_blocks(prompt(40)), split_blocks(prompt(44))
    whole = [block.text for block in before[:-1]]
    assert [block.text for block in after[: len(whole)]] == whole
    # What the first request marked, the second finds within the blocks it may look back over.
    last = max(number for number, block in enumerate(before) if block.is_breakpoint)
    marked = max(number for number, block in enumerate(after) if block.is_breakpoint)
    assert marked - last < 20


def test_every_block_but_the_last_of_a_long_message_is_long_enough() -> None:
    user = [block for block in split_blocks(prompt(60)) if block.role == "user"]
    assert all(len(block.text) >= MIN_BLOCK_CHARACTERS for block in user[:-1])


def test_a_prefix_too_short_for_any_cache_gets_no_breakpoint() -> None:
    messages = [PromptMessage("system", "Rules.\n\nFound.", stable=8), *[PromptMessage("user", "Hm.")] * 9]
    assert not any(block.is_breakpoint for block in split_blocks(messages))
    long = [*messages, PromptMessage("assistant", "word " * 200), PromptMessage("user", "Go on.")]
    assert [number for number, block in enumerate(split_blocks(long)) if block.is_breakpoint] == [11]


def test_attachments_belong_to_the_last_block_of_their_message() -> None:
    messages = prompt(30)
    along = [messages[0], PromptMessage("user", messages[1].content, attachments=("a", "b"))]
    plain, blocks = split_blocks(messages), split_blocks(along)
    assert blocks[:-1] == plain[:-1]
    assert (blocks[-1].text, blocks[-1].attachments) == (plain[-1].text, ("a", "b"))
    assert split_blocks([PromptMessage("user", " ", attachments=("a",))])[0].text == ""


def test_one_short_message_gets_no_breakpoint() -> None:
    assert [block.is_breakpoint for block in split_blocks([PromptMessage("user", "Hello.")])] == [False]


@given(st.lists(st.tuples(st.sampled_from(ROLES), st.text(max_size=6000)), max_size=6))
def test_nothing_but_white_space_is_ever_lost(rows: list[tuple[Role, str]]) -> None:
    messages = [PromptMessage(role, text) for role, text in rows]
    blocks = split_blocks(messages)
    assert "".join(b.text for b in blocks).split() == "".join(m.content for m in messages if m.content.strip()).split()
    assert all(block.text.strip() for block in blocks)
