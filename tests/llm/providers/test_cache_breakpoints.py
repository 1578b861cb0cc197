"""Where blocks end, and which are marked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.context.render import Message
from fabula.core.fragment import Role
from fabula.llm.providers.cache_breakpoints import LENGTH, MOST_MARKS, blocks

ROLES: tuple[Role, ...] = ("system", "user", "assistant")
PARAGRAPHS = [f"Paragraph {number}: " + "words and more words " * 20 for number in range(60)]


def prompt(paragraphs: int, closing: str = "Write on.") -> list[Message]:
    rules = "Rules stand here. " * 50 + "\n\n"
    text = "\n\n".join(PARAGRAPHS[:paragraphs])
    return [Message("system", f"{rules}Found.", stable=len(rules)), Message("user", f"{text}\n\n{closing}")]


def test_blocks_together_are_the_messages() -> None:
    messages = prompt(30)
    found = blocks(messages)
    for role in ("system", "user"):
        said = "".join(message.content for message in messages if message.role == role)
        assert "".join(block.text for block in found if block.role == role) == said


def test_at_most_four_marks_one_at_the_stable_prefix_none_at_the_end() -> None:
    found = blocks(prompt(60))
    assert sum(block.marked for block in found) == MOST_MARKS
    assert found[0].marked
    assert not found[-1].marked


def test_text_that_grows_at_its_end_keeps_every_block_before() -> None:
    before, after = blocks(prompt(40)), blocks(prompt(44))
    whole = [block.text for block in before[:-1]]
    assert [block.text for block in after[: len(whole)]] == whole
    # What the first request marked, the second finds within the blocks it may look back over.
    last = max(number for number, block in enumerate(before) if block.marked)
    marked = max(number for number, block in enumerate(after) if block.marked)
    assert marked - last < 20


def test_every_block_but_the_last_of_a_long_message_is_long_enough() -> None:
    user = [block for block in blocks(prompt(60)) if block.role == "user"]
    assert all(len(block.text) >= LENGTH for block in user[:-1])


def test_what_is_too_short_for_any_cache_is_not_worth_a_mark() -> None:
    messages = [Message("system", "Rules.\n\nFound.", stable=8), *[Message("user", "Hm.")] * 9]
    assert not any(block.marked for block in blocks(messages))
    long = [*messages, Message("assistant", "word " * 200), Message("user", "Go on.")]
    assert [number for number, block in enumerate(blocks(long)) if block.marked] == [11]


def test_what_goes_along_stands_with_the_end_of_its_message() -> None:
    messages = prompt(30)
    along = [messages[0], Message("user", messages[1].content, attachments=("a", "b"))]
    plain, found = blocks(messages), blocks(along)
    assert found[:-1] == plain[:-1]
    assert (found[-1].text, found[-1].attachments) == (plain[-1].text, ("a", "b"))
    assert blocks([Message("user", " ", attachments=("a",))])[0].text == ""


def test_one_short_message_needs_no_marks() -> None:
    assert [block.marked for block in blocks([Message("user", "Hello.")])] == [False]


@given(st.lists(st.tuples(st.sampled_from(ROLES), st.text(max_size=6000)), max_size=6))
def test_nothing_but_white_space_is_ever_lost(rows: list[tuple[Role, str]]) -> None:
    messages = [Message(role, text) for role, text in rows]
    found = blocks(messages)
    assert "".join(b.text for b in found).split() == "".join(m.content for m in messages if m.content.strip()).split()
    assert all(block.text.strip() for block in found)
