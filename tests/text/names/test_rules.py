"""How names are written, what is around them, and lists of names that follow on from one another."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.text.names.matcher import Case, Hit, Names, Rules


def owners(hits: Sequence[Hit]) -> list[str]:
    return [hit.owner for hit in hits]


def mentions(name: str, text: str, **rules: object) -> bool:
    known = Names({"it": [name]}, rules={"it": msgspec.convert(rules, Rules)})
    return bool(known.find(text))


@pytest.mark.parametrize("text", ["MARA VENN", "Mara Venn", "“mara venn?” he typed"])
def test_a_name_may_stand_in_capitals_or_small_letters(text: str) -> None:
    assert mentions("Mara Venn", text)


@pytest.mark.parametrize(
    ("name", "text"),
    [("Grace", "with great grace"), ("Will", "he will come"), ("Rose", "they rose early"), ("May", "it may rain")],
)
def test_a_name_that_is_an_ordinary_word_counts_only_where_it_is_written_as_a_name(name: str, text: str) -> None:
    assert not mentions(name, text)
    assert mentions(name, f"Then {name} spoke.")
    assert mentions(name, f"THEN {name.upper()} SPOKE.")
    assert mentions(name, text, case=Case.ANY)


def test_a_name_that_begins_with_a_small_letter_may_begin_a_sentence() -> None:
    assert mentions("the Dark Hour", "The Dark Hour came.")
    assert mentions("the Dark Hour", "in the Dark Hour")


def test_case_can_be_made_to_matter() -> None:
    assert not mentions("Mara", "MARA", case=Case.EXACT)
    assert not mentions("Mara", "mara", case=Case.EXACT)
    assert mentions("Mara", "Mara", case=Case.EXACT)


def test_each_owner_has_rules_of_its_own() -> None:
    known = Names({"a": ["Mara"], "b": ["Mara"]}, rules={"a": Rules(case=Case.EXACT), "b": Rules(case=Case.ANY)})
    assert owners(known.find("Mara")) == ["a", "b"]
    assert owners(known.find("mARA")) == ["b"]


def test_a_phrase_in_which_the_name_means_something_else_is_left_out() -> None:
    without = ("Rose garden", "compass rose")
    assert not mentions("Rose", "in the Rose Garden", without=without)
    assert mentions("Rose", "Rose came into the garden", without=without)
    assert mentions("Rose", "in the rose garden Rose slept", without=without)
    assert not mentions("远山", "他望着远山含黛。", without=("远山含黛",))


def test_letters_that_grow_in_small_letters_do_not_move_offsets() -> None:
    known = Names({"it": ["Mara"]}, rules={"it": Rules(case=Case.ANY)})
    (hit,) = known.find("İstanbul'da MARA")
    assert (hit.surface, hit.start) == ("MARA", 12)


@pytest.mark.parametrize(
    ("name", "text"),
    [("丽丽", "他还一直和丽丽有来往。"), ("雷锋", "三年来学雷锋做好事。"), ("敏敏", "他和敏敏最终没能走到最后。")],
)
def test_a_conjunction_swallowed_by_a_word_of_the_dictionary_is_given_back(name: str, text: str) -> None:
    assert mentions(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("桥本", "日本首相桥本龙太郎今晚到达。"),
        ("伏羲", "在甘肃天水市伏羲庙前。"),
        ("轩辕", "轩辕桥北端为桥头。"),
        ("任岩松", "任岩松中学的名字背后。"),
        ("琼斯", "股票均属道—琼斯指数。"),
    ],
)
def test_a_persons_name_in_a_longer_name_is_not_that_person(name: str, text: str) -> None:
    assert not mentions(name, text, person=True)
    assert mentions(name, f"这时，{name}说话了。", person=True)


@pytest.mark.parametrize(
    ("name", "text"), [("慈禧", "慈禧太后说改革很难。"), ("邓小平", "学习邓小平理论。"), ("林远", "——林远走了过来。")]
)
def test_a_persons_name_with_a_title_or_a_doctrine_is_a_mention(name: str, text: str) -> None:
    assert mentions(name, text, person=True)


def test_a_places_name_goes_on_as_it_likes() -> None:
    assert mentions("青石", "他住在青石镇。")


def test_a_name_of_one_chinese_character_counts_only_where_it_stands_alone() -> None:
    assert not mentions("远", "他走得很远。")
    assert mentions("远", "“远！”她喊道。")


def test_marks_belong_to_a_name_that_has_them() -> None:
    known = Names({"book": ["《孟子》"], "man": ["孟子"]})
    assert owners(known.find("他在读《孟子》，孟子说过。")) == ["book", "man"]


def test_a_name_is_taken_literally() -> None:
    assert mentions("C.*t (the [Grey])", "He met C.*t (the [Grey]) there.")
    assert not mentions("C.t", "Cat")


def test_ten_thousand_aliases_are_found_like_one() -> None:
    known = Names({"it": [f"Name{n}x" for n in range(10_000)]})
    assert owners(known.find("Name9999x met Name0x.")) == ["it", "it"]


def test_a_list_that_follows_on_shares_the_automaton() -> None:
    first = Names({f"n{n}": (f"Qua{n}x",) for n in range(500)})
    second = first.changed({"new": ("Zebulon",)})
    assert second._large is first._large
    assert owners(second.find("Zebulon met Qua7x.")) == ["new", "n7"]
    assert owners(first.find("Zebulon met Qua7x.")) == ["n7"]


WORDS = ("Mara", "mara", "Venn", "Mara Venn", "Grace", "林远", "林远山", "远山", "和丽丽", "丽丽", "Rose", "ROSE")
LISTS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from(WORDS), max_size=3), max_size=6)
RULES = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(Rules, case=st.sampled_from(Case), person=st.booleans(), without=st.sampled_from([(), ("Rose Venn",)])),
)
TEXTS = st.lists(
    st.sampled_from([*WORDS, " ", "。", "MARA VENN", "grace", "Rose Venn", "和", "走了", "'s", "x"]), max_size=12
).map("".join)


@settings(deadline=None, max_examples=30)  # each example fills the segmenter several times
@given(st.lists(st.tuples(LISTS, RULES), min_size=1, max_size=4), TEXTS)
def test_a_list_that_follows_on_finds_what_a_fresh_one_finds(
    steps: list[tuple[dict[str, list[str]], dict[str, Rules]]], text: str
) -> None:
    padded = {f"pad{n}": (f"Padding{n}",) for n in range(90)}
    known, said, asked = Names(padded), dict[str, list[str]](), dict[str, Rules]()
    for names, rules in steps:
        gone = [*said.keys() - names.keys()]
        known = known.changed({**names, **dict.fromkeys(gone)}, {**dict.fromkeys(asked.keys() - rules.keys()), **rules})
        said, asked = names, rules
        known.find(text)
        assert known.find(text) == Names({**padded, **names}, rules=rules).find(text)


def test_names_that_stay_the_same_stay_as_they_are() -> None:
    first = Names({"a": ("Mara",)}, rules={"a": Rules(person=True)})
    assert first.changed({"a": ("Mara",), "gone": None}, {"a": Rules(person=True)}) is first
    assert owners(first.changed({"a": None}).find("Mara came.")) == []
