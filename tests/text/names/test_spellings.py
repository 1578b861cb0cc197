"""Spellings of names, the words around them, and matchers made from a previous one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.text.names.matcher import CaseMatching, NameMatch, NameMatcher, NameRules


def owners(matches: Sequence[NameMatch]) -> list[str]:
    return [match.owner for match in matches]


def mentions(name: str, text: str, **rules: Any) -> bool:
    matcher = NameMatcher({"it": [name]}, rules={"it": NameRules(**rules)})
    return bool(matcher.find(text))


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
    assert mentions(name, text, case=CaseMatching.ANY)


def test_a_name_that_begins_with_a_small_letter_may_begin_a_sentence() -> None:
    assert mentions("the Dark Hour", "The Dark Hour came.")
    assert mentions("the Dark Hour", "in the Dark Hour")


def test_case_can_be_made_to_matter() -> None:
    assert not mentions("Mara", "MARA", case=CaseMatching.EXACT)
    assert not mentions("Mara", "mara", case=CaseMatching.EXACT)
    assert mentions("Mara", "Mara", case=CaseMatching.EXACT)


def test_each_owner_has_rules_of_its_own() -> None:
    matcher = NameMatcher(
        {"a": ["Mara"], "b": ["Mara"]},
        rules={"a": NameRules(case=CaseMatching.EXACT), "b": NameRules(case=CaseMatching.ANY)},
    )
    assert owners(matcher.find("Mara")) == ["a", "b"]
    assert owners(matcher.find("mARA")) == ["b"]


def test_a_phrase_in_which_the_name_means_something_else_is_left_out() -> None:
    phrases = ("Rose garden", "compass rose")
    assert not mentions("Rose", "in the Rose Garden", without=phrases)
    assert mentions("Rose", "Rose came into the garden", without=phrases)
    assert mentions("Rose", "in the rose garden Rose slept", without=phrases)
    assert not mentions("远山", "他望着远山含黛。", without=("远山含黛",))


def test_rules_keep_the_keys_under_which_they_are_stored() -> None:
    stored = {"case": "any", "without": ["Rose garden"], "person": True}
    assert msgspec.json.decode(msgspec.json.encode(msgspec.convert(stored, NameRules))) == stored


def test_letters_that_grow_in_small_letters_do_not_move_offsets() -> None:
    matcher = NameMatcher({"it": ["Mara"]}, rules={"it": NameRules(case=CaseMatching.ANY)})
    (hit,) = matcher.find("İstanbul'da MARA")
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
    assert not mentions(name, text, is_person=True)
    assert mentions(name, f"这时，{name}说话了。", is_person=True)


@pytest.mark.parametrize(
    ("name", "text"), [("慈禧", "慈禧太后说改革很难。"), ("邓小平", "学习邓小平理论。"), ("林远", "——林远走了过来。")]
)
def test_a_persons_name_with_a_title_or_a_doctrine_is_a_mention(name: str, text: str) -> None:
    assert mentions(name, text, is_person=True)


def test_a_places_name_goes_on_as_it_likes() -> None:
    assert mentions("青石", "他住在青石镇。")


def test_a_name_of_one_chinese_character_counts_only_where_it_stands_alone() -> None:
    assert not mentions("远", "他走得很远。")
    assert mentions("远", "“远！”她喊道。")


def test_marks_belong_to_a_name_that_has_them() -> None:
    matcher = NameMatcher({"book": ["《孟子》"], "man": ["孟子"]})
    assert owners(matcher.find("他在读《孟子》，孟子说过。")) == ["book", "man"]


def test_a_name_is_taken_literally() -> None:
    assert mentions("C.*t (the [Grey])", "He met C.*t (the [Grey]) there.")
    assert not mentions("C.t", "Cat")


def test_ten_thousand_aliases_are_found_like_one() -> None:
    matcher = NameMatcher({"it": [f"Name{n}x" for n in range(10_000)]})
    assert owners(matcher.find("Name9999x met Name0x.")) == ["it", "it"]


def test_a_list_that_follows_on_shares_the_automaton() -> None:
    first = NameMatcher({f"n{n}": (f"Qua{n}x",) for n in range(500)})
    second = first.with_changes({"new": ("Zebulon",)})
    assert second._large is first._large
    assert owners(second.find("Zebulon met Qua7x.")) == ["new", "n7"]
    assert owners(first.find("Zebulon met Qua7x.")) == ["n7"]


WORDS = ("Mara", "mara", "Venn", "Mara Venn", "Grace", "林远", "林远山", "远山", "和丽丽", "丽丽", "Rose", "ROSE")
LISTS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from(WORDS), max_size=3), max_size=6)
RULES = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(
        NameRules,
        case=st.sampled_from(CaseMatching),
        is_person=st.booleans(),
        without=st.sampled_from([(), ("Rose Venn",)]),
    ),
)
TEXTS = st.lists(
    st.sampled_from([*WORDS, " ", "。", "MARA VENN", "grace", "Rose Venn", "和", "走了", "'s", "x"]), max_size=12
).map("".join)


@settings(deadline=None, max_examples=30)  # each example fills the segmenter several times
@given(st.lists(st.tuples(LISTS, RULES), min_size=1, max_size=4), TEXTS)
def test_a_list_that_follows_on_finds_what_a_fresh_one_finds(
    steps: list[tuple[dict[str, list[str]], dict[str, NameRules]]], text: str
) -> None:
    padded = {f"pad{n}": (f"Padding{n}",) for n in range(90)}
    matcher, old_names, old_rules = NameMatcher(padded), dict[str, list[str]](), dict[str, NameRules]()
    for names, rules in steps:
        removed = [*old_names.keys() - names.keys()]
        no_rules = dict.fromkeys(old_rules.keys() - rules.keys())
        matcher = matcher.with_changes({**names, **dict.fromkeys(removed)}, {**no_rules, **rules})
        old_names, old_rules = names, rules
        matcher.find(text)
        assert matcher.find(text) == NameMatcher({**padded, **names}, rules=rules).find(text)


def test_names_that_stay_the_same_stay_as_they_are() -> None:
    first = NameMatcher({"a": ("Mara",)}, rules={"a": NameRules(is_person=True)})
    assert first.with_changes({"a": ("Mara",), "gone": None}, {"a": NameRules(is_person=True)}) is first
    assert owners(first.with_changes({"a": None}).find("Mara came.")) == []


@pytest.mark.parametrize(
    ("alias", "text"),
    [
        ("white whale", "They saw the White Whale."),
        ("white whale", "WHITE WHALE!"),
        ("white whale", "White whale ahead."),
        ("the white whale", "It was the White Whale."),
        ("lady of the lake", "The Lady of the Lake rose."),
        ("lady of the lake", "The Lady Of The Lake rose."),
        ("half-moon inn", "At the Half-Moon Inn."),
    ],
)
def test_an_alias_in_lower_case_is_found_in_title_case(alias: str, text: str) -> None:
    """An alias "white whale" missed every "White Whale" of the book."""
    assert [hit.owner for hit in NameMatcher({"x": (alias,)}).find(text)] == ["x"]
    exact = NameMatcher({"x": (alias,)}, rules={"x": NameRules(case=CaseMatching.EXACT)})
    assert list(exact.find(text)) == []


@pytest.mark.parametrize("text", ["About the Letter.", "He read the Letter", "The Letter came.", "THE LETTER"])
def test_a_name_with_an_article_is_found_in_the_middle_of_a_sentence(text: str) -> None:
    """An entry "The Letter" missed every "the Letter"."""
    assert [hit.owner for hit in NameMatcher({"x": ("The Letter",)}).find(text)] == ["x"]


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=8), min_size=1, max_size=4))
def test_a_lower_case_name_is_found_as_it_is_in_capitals_and_in_title_case(words: list[str]) -> None:
    name = " ".join(words)
    matcher = NameMatcher({"x": (f"{name} quay",)})
    for spelling in (name, name.title(), name.upper(), name[0].upper() + name[1:]):
        quay = "Quay" if spelling == name.title() else "QUAY" if spelling == name.upper() else "quay"
        assert [hit.surface for hit in matcher.find(f"See {spelling} {quay}.")] == [f"{spelling} {quay}"]
