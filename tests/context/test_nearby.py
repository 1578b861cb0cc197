"""How near somebody is mentioned: the same, whether whole paragraphs or the cut text is looked at."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from fabula.context.nearby import REACH, nearby
from fabula.context.request import Nearby, Request
from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.names.matcher import Names
from fabula.text.names.mention_cache import LONGEST
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.windows import window
from tests.context.builders import PROJECT

NAMES = Names({"mara": ["Mara", "Mara Venn"], "otto": ["Otto"], "lin": ["林远"], "moor": ["Captain Moor"]})
_BITS = ("Mara", "Mara Venn", "Otto", "林远", "Captain Moor", "walked", "home", "and", "他说", "，", "。")
_ENDS = (" ", " ", " ", " ", ". ", ".\n\n", ".\n\n", "。\n", "\n")


def near_of(text: str, cursor: int) -> Nearby:
    desk = [window(Paragraphs(text), cursor, source="editor:cursor-window", project_id=PROJECT, reach=100_000)]
    return nearby(Request(project_id=PROJECT), desk)[0][0]


def test_whole_paragraphs_tell_what_the_cut_text_tells() -> None:
    random = Random(4)
    for _ in range(200):
        text = "".join(random.choice(_BITS) + random.choice(_ENDS) for _ in range(random.randint(1, 400)))
        near = near_of(text, random.randint(0, len(text)))
        plain = replace(near, readings=None).nearest(NAMES.find)
        for _ in range(3):  # the second time a leaf is read whole, the third time it is known
            assert near.nearest(NAMES.find) == plain


def test_in_endless_paragraphs_the_cut_text_is_looked_at() -> None:
    near = near_of("Mara went on and on " * LONGEST, 10 * LONGEST)
    assert near.nearest(NAMES.find)["mara"] > 0.9


def test_a_name_further_than_near_is_not_near() -> None:
    text = "Otto.\n\n" + "word " * REACH + "Mara."  # nearer than that is only the paragraph of the cursor
    assert near_of(text, len(text)).nearest(NAMES.find).keys() == {"mara"}


def test_everybody_is_named_in_the_order_of_the_text() -> None:
    near = near_of("Otto met Mara. Captain Moor left, Otto stayed, and 林远 came.", 14)
    for _ in range(3):
        assert list(near.nearest(NAMES.find)) == ["otto", "mara", "moor", "lin"]


def test_what_is_said_to_follow_takes_nothing_from_what_is_near_before() -> None:
    text = "Otto. Mara went on, " + "word " * REACH  # all in the paragraph of the cursor
    desk: list[Fragment] = [
        Fragment(source="x", layer=Layer.IMMEDIATE, text="Captain Moor.", project_id=PROJECT, part=Part.AFTER),
        window(Paragraphs(text), len(text), source="editor:cursor-window", project_id=PROJECT, reach=100_000),
    ]
    for order in (desk, desk[::-1]):
        near = nearby(Request(project_id=PROJECT), order)[0][0]
        assert near.nearest(NAMES.find).keys() == {"otto", "mara", "moor"}


def test_a_hit_may_be_turned_down() -> None:
    near = Nearby("Mara met Otto.", 14, 0, 14)
    assert near.nearest(NAMES.find, lambda hit: hit.owner != "otto").keys() == {"mara"}
