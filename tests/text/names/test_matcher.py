"""Known names in running text: whole words in English, words by their edges in Chinese."""

from __future__ import annotations

import random

import pytest

from fabula.text.names.matcher import NameMatcher


def found(names: dict[str, list[str]], text: str) -> list[tuple[str, str]]:
    """Owner and the words themselves, checked against the text."""
    matches = NameMatcher(names).find(text)
    assert all(text[match.start : match.end] == match.surface for match in matches)
    assert [match.start for match in matches] == sorted(match.start for match in matches)
    return [(match.owner, match.surface) for match in matches]


def mentions(name: str, text: str) -> bool:
    return bool(found({"it": [name]}, text))


@pytest.mark.parametrize(
    "text",
    [
        "Mara came in.",
        "It was Mara.",
        "Mara",
        "“Mara,” he said.",
        "(Mara)",
        "Mara-like",
        "the lamp—Mara’s lamp",
        "Mara's lamp",
        "both Maras",
        "the Maras' lamp",
        "*Mara* came",
        "《Mara》",
        "我看见Mara来了",
    ],
)
def test_a_name_is_found_as_a_whole_word_also_plural_and_possessive(text: str) -> None:
    assert mentions("Mara", text)


@pytest.mark.parametrize(
    "text", ["Marathon", "Tamara came", "Samarang", "Mara2", "2Mara", "Marasmus", "Amara", "Marae"]
)
def test_a_name_inside_another_word_is_not_a_mention(text: str) -> None:
    assert not mentions("Mara", text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Jones", "the Joneses"),
        ("Jones", "Jones' lamp"),
        ("Jones", "Jones’s lamp"),
        ("Fox", "Foxes ran"),
        ("O'Brien", "O'Brien's lamp"),
        ("the Guild", "He left the Guild."),
        ("Lamp No. 7", "at Lamp No. 7, still"),
        ("Éloi", "Éloi's"),
        ("Владимир", "Пришёл Владимир."),
    ],
)
def test_names_of_other_shapes_are_found(name: str, text: str) -> None:
    assert mentions(name, text)


def test_a_name_in_markdown_emphasis_is_found() -> None:
    assert mentions("Mara", "**Mara** came")
    assert mentions("Mara", "_Mara_ came")


@pytest.mark.parametrize("text", ["Владимирский тракт", "Ann\u0301e", "Zoé"])
def test_letters_beyond_ascii_belong_to_their_word(text: str) -> None:
    assert found({"v": ["Владимир"], "z": ["Zo"]}, text) == []


def test_the_longest_name_wins() -> None:
    names = {"mara": ["Mara"], "venn": ["Mara Venn"], "order": ["Order of Mara Venn"]}
    assert found(names, "Mara Venn came") == [("venn", "Mara Venn")]
    assert found(names, "the Order of Mara Venn") == [("order", "Order of Mara Venn")]
    assert found(names, "Mara, not Mara Venn") == [("mara", "Mara"), ("venn", "Mara Venn")]
    assert found({"a": ["陈平"], "b": ["陈平安"]}, "陈平安来了") == [("b", "陈平安")]


def test_a_longer_name_that_is_no_whole_word_does_not_hide_a_shorter_one_that_is() -> None:
    assert found({"ann": ["Ann"], "ley": ["Ann Ley"]}, "Ann Leyton came in.") == [("ann", "Ann")]
    assert found({"mara": ["Mara"], "venn": ["Mara Venn"]}, "Mara Vennish words") == [("mara", "Mara")]


def test_a_rejected_name_does_not_hide_one_that_begins_inside_it() -> None:
    assert found({"lin": ["林远"], "yuan": ["远山"]}, "树林远山如黛") == [("yuan", "远山")]


def test_a_name_that_several_own_is_a_mention_of_each() -> None:
    names = {"mother": ["Mrs. Venn", "Venn"], "daughter": ["Venn"], "other": ["Sloane"]}
    assert found(names, "Venn came") == [("daughter", "Venn"), ("mother", "Venn")]
    assert found({"a": ["小林"], "b": ["小林", "林远"]}, "小林来了") == [("a", "小林"), ("b", "小林")]


def test_empty_names_and_no_names_find_nothing() -> None:
    assert found({}, "Mara came") == []
    assert found({"a": ["", "  "], "b": []}, "Mara came") == []
    assert found({"a": [" Mara "]}, "Mara came") == [("a", "Mara")]
    assert found({"a": ["Mara"]}, "") == []


@pytest.mark.parametrize(
    "text",
    [
        "树林远处有一点火光。",
        "他望着森林远方的雪线。",
        "苏州的园林远近闻名。",
        "从这里看，竹林远看像一片绿雾。",
        "山林远离城市的喧嚣。",
        "丛林远比他想象的危险。",
        "密林远端亮起了灯。",
        "站在松林远眺，海面如镜。",
        "雨林远古的传说传到今天。",
        "红树林远在河的对岸。",
        "防护林远期规划已经完成。",
        "园林远不止这一处。",
    ],
)
def test_two_characters_that_belong_to_two_words_are_not_a_name(text: str) -> None:
    assert not mentions("林远", text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("李四", "行李四处散落。"),
        ("高峰", "他登上了最高峰。"),
        ("马力", "木马力气很大。"),
        ("王国", "国王国事繁忙。"),
        ("安静", "天安静坐的人散了。"),
        ("平安", "和平安定的年代。"),
        ("白云", "明白云南话的人不多。"),
        ("方圆", "地方圆了他的梦。"),
    ],
)
def test_other_names_that_straddle_two_words_are_not_found(name: str, text: str) -> None:
    assert not mentions(name, text)


@pytest.mark.parametrize(
    "text",
    [
        "林远走了过来。",
        "他看见林远站在门口。",
        "“林远，”她说。",
        "我和林远是同学。",
        "这时林远才抬头。",
        "林远的手很冷。",
        "她给林远写信。",
        "林远远远地站着。",
        "连林远也笑了。",
        "对林远说",
        "林远",
        "那天，林远没有来。",
    ],
)
def test_a_chinese_name_is_found_where_it_is_a_word(text: str) -> None:
    assert mentions("林远", text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("さくら", "さくらは駅で待っていた。"),
        ("花子", "昨日、花子さんに会った。"),
        ("カイ", "「カイ、逃げろ」と彼は叫んだ。"),
        ("綾波", "そこへ綾波が来た。"),
        ("田中", "窓の外で田中が笑っている。"),
        ("김민수", "김민수는 문을 열었다."),
        ("민수", "어제 민수가 왔다."),
        ("서연", "“서연아, 어디 가?”"),
        ("등대", "그는 등대를 보았다."),
    ],
)
def test_japanese_and_korean_names_are_found_with_their_particles(name: str, text: str) -> None:
    assert mentions(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [("민수", "국민수가 줄었다."), ("서연", "그는 독서연구회에 갔다."), ("지수", "저수지수문을 열었다.")],
)
def test_a_korean_name_in_the_middle_of_a_word_is_not_a_mention(name: str, text: str) -> None:
    """Korean is written with spaces: a name begins a word, and particles follow it."""
    assert not mentions(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [("カイ", "スカイツリーを見た。"), ("レナ", "セレナーデを聴いた。"), ("ミナ", "ゼミナールに出た。")],
)
def test_a_name_inside_a_longer_katakana_word_is_not_a_mention(name: str, text: str) -> None:
    assert not mentions(name, text)


def test_a_hundred_thousand_names_are_found_like_a_few() -> None:
    rng = random.Random(13)
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = {f"n{n}": ["Q" + "".join(rng.choices(letters, k=8)) + f"{n}"] for n in range(100_000)}
    wanted = names["n77777"][0]
    text = f"Then {wanted}'s lamp went out. " * 20
    matches = NameMatcher({**names, "mara": ["Mara"], "lin": ["林远"]}).find(text + "Mara. 林远走了过来。")
    assert [match.owner for match in matches] == ["n77777"] * 20 + ["mara", "lin"]
