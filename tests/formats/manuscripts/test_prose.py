"""Prose: from Markdown to blocks and back without changing a word."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.formats.manuscripts.prose import Block, TextRun, make_block, parse_blocks, render_markdown


def test_emphasis_beside_chinese_marks_is_understood_and_written_so_that_others_do_too() -> None:
    runs = parse_blocks("他说*“你好”*然后走了")[0].runs
    assert runs == (TextRun("他说"), TextRun("“你好”", italic=True), TextRun("然后走了"))
    assert render_markdown([Block(runs)]) == "他说“*你好*”然后走了"


_RUNS = st.lists(
    st.builds(TextRun, st.text("ab “”.*_\\#>海。\n-~", max_size=8), st.booleans(), st.booleans()),
    min_size=1,
    max_size=5,
)


@settings(max_examples=300, deadline=None)
@given(_RUNS, st.integers(0, 2))
def test_no_word_is_changed_on_the_way_through_markdown(runs: list[TextRun], quote_depth: int) -> None:
    block = make_block(runs, quote_depth=quote_depth)
    if block is not None:
        words = [line for again in parse_blocks(render_markdown([block])) for line in again.text.split("\n")]
        assert words == [line.strip() for line in block.text.split("\n") if line.strip()]
