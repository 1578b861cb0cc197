"""How near somebody is mentioned: the same, whether whole sections or the cut text is searched."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from fabula.context.nearby import REACH, Nearby, find_nearby
from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.names.matcher import NameMatcher
from fabula.text.names.mention_cache import MAX_SECTION_CHARACTERS
from fabula.text.terms import find_shared_terms
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.windows import make_text_window
from tests.context.builders import PROJECT

NAMES = NameMatcher({"mara": ["Mara", "Mara Venn"], "otto": ["Otto"], "lin": ["林远"], "moor": ["Captain Moor"]})
_BITS = ("Mara", "Mara Venn", "Otto", "林远", "Captain Moor", "walked", "home", "and", "他说", "，", "。")
_ENDS = (" ", " ", " ", " ", ". ", ".\n\n", ".\n\n", "。\n", "\n")


def near_of(text: str, cursor: int) -> Nearby:
    return find_nearby([make_window(text, cursor), *make_after(text[cursor:])], "")[0][0]


def make_window(text: str, cursor: int) -> Fragment:
    return make_text_window(Paragraphs(text), cursor, source="editor:cursor-window", project_id=PROJECT, reach=100_000)


def make_after(text: str) -> list[Fragment]:
    after = Fragment(source="x", layer=Layer.IMMEDIATE, text=text, project_id=PROJECT, part=Part.AFTER)
    return [after] if text else []


def test_whole_sections_give_what_the_cut_text_gives() -> None:
    random = Random(4)
    for _ in range(200):
        text = "".join(random.choice(_BITS) + random.choice(_ENDS) for _ in range(random.randint(1, 400)))
        near = near_of(text, random.randint(0, len(text)))
        plain = replace(near, mention_cache=None).nearest_mentions(NAMES.find)
        for _ in range(2):  # the second time from the cache
            assert near.nearest_mentions(NAMES.find) == plain


def test_in_endless_paragraphs_the_cut_text_is_looked_at() -> None:
    near = near_of("Mara went on and on " * MAX_SECTION_CHARACTERS, 10 * MAX_SECTION_CHARACTERS)
    assert near.nearest_mentions(NAMES.find)["mara"] > 0.9


def test_a_name_further_than_near_is_not_near() -> None:
    text = "Otto.\n\n" + "word " * REACH + "Mara."  # nearer than that is only the paragraph of the cursor
    assert near_of(text, len(text)).nearest_mentions(NAMES.find).keys() == {"mara"}


def test_everybody_is_named_in_the_order_of_the_text() -> None:
    near = near_of("Otto met Mara. Captain Moor left, Otto stayed, and 林远 came.", 14)
    for _ in range(3):
        assert list(near.nearest_mentions(NAMES.find)) == ["otto", "mara", "moor", "lin"]


def test_what_is_said_to_follow_takes_nothing_from_what_is_near_before() -> None:
    text = "Otto. Mara went on, " + "word " * REACH  # all in the paragraph of the cursor
    desk = [*make_after("Captain Moor."), make_window(text, len(text))]
    for order in (desk, desk[::-1]):
        near = find_nearby(order, "")[0][0]
        assert near.nearest_mentions(NAMES.find).keys() == {"otto", "mara", "moor"}


def test_what_is_not_told_behind_the_cursor_is_not_near() -> None:
    text = "Otto met Mara. Captain Moor left."
    (near,), _ = find_nearby([make_window(text, 14)], "")
    assert near.nearest_mentions(NAMES.find).keys() == {"otto", "mara"}
    assert near.full_text == near.text == "Otto met Mara."
    assert near.find_terms(500, 500).isdisjoint(Nearby(" Captain Moor left.").find_terms(500, 500))


def test_a_hit_may_be_turned_down() -> None:
    near = Nearby("Mara met Otto.", 14, 0, 14)
    assert near.nearest_mentions(NAMES.find, lambda hit: hit.owner != "otto").keys() == {"mara"}


def test_a_word_that_is_cut_at_either_end_is_no_term_of_the_scene() -> None:
    text = "A lantern burned. Mara lit the harbour tower."
    near, cursor = near_of(text, text.index("Mara")), text.index("Mara")
    before, after = cursor - text.index("ntern"), text.index("bour") - cursor
    assert near.find_terms(before, after) == find_shared_terms("burned. Mara lit the")
    assert near.find_terms(cursor, len(text)) == find_shared_terms(text)
    assert replace(near, term_cache=None).find_terms(before, after) == near.find_terms(before, after)
    unspaced = near_of("林远走进灯塔，看见了母亲的油灯。", 6)
    assert unspaced.find_terms(4, 3) == find_shared_terms("走进灯塔，看见")
