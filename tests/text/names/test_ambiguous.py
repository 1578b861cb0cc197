"""What stands around a name: longer names, families, and words that are written alike."""

from __future__ import annotations

import pytest

from fabula.text.names.matcher import NameMatcher, NameRules

PERSON = NameRules(is_person=True)


def found(names: dict[str, list[str]], text: str) -> list[str]:
    matches = NameMatcher(names, rules=dict.fromkeys(names, PERSON)).find(text)
    assert all(text[match.start : match.end] == match.surface for match in matches)
    return [match.surface for match in matches]


def mentions(name: str, text: str) -> bool:
    return bool(found({"it": [name]}, text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Will", "Will you come?"),
        ("Will", "“Will the rain stop?”"),
        ("Will", "WILL YOU COME?"),
        ("May", "May I come in?"),
        ("May", "He left in May."),
        ("May", "On 3 May he left, and on May 5 he came."),
        ("June", "It was the end of June."),
        ("Mark", "Mark my words."),
        ("Hope", "Hope you are well!"),
        ("Grant", "Grant us this."),
        ("Chase", "Chase him!"),
        ("Rose", "The sun rose early."),
        ("Carrie", "She carries a lamp."),
        ("Dawn", "They left at dawn."),
    ],
)
def test_an_ordinary_word_is_told_from_a_name_by_what_follows_it(name: str, text: str) -> None:
    assert not mentions(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Will", "Will came in."),
        ("Will", "Then Will, you know, came in."),
        ("Will", "Will the Bold rode out."),
        ("May", "May had a face."),
        ("May", "He looked at May."),
        ("Mark", "Mark nodded."),
        ("Rose", "Rose rose."),
        ("Hope", "It was Hope’s lamp."),
    ],
)
def test_a_name_that_is_an_ordinary_word_is_found_where_it_is_a_name(name: str, text: str) -> None:
    assert mentions(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("安静", "教室里很安静。"),
        ("安静", "她安静地坐着。"),
        ("明亮", "房间里非常明亮。"),
        ("金山", "他挖到一座金山。"),
        ("石头", "路边有一块石头。"),
        ("高峰", "正是高峰期。"),
        ("成功", "他们的成功率很高。"),
        ("于是", "于是他走了。"),
        ("马上", "我马上就来。"),
        ("任何", "任何人都可以。"),
        ("王国", "整个王国都在庆祝。"),
        ("平安", "一路平安。"),
        ("江海", "长江海口段封航。"),
        ("王明", "国王明天到。"),
        ("李明", "行李明天送到。"),
        ("云长", "风卷残云长空万里。"),
    ],
)
def test_a_chinese_word_is_told_from_a_name_by_what_is_around_it(name: str, text: str) -> None:
    assert not mentions(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("安静", "安静说：“我不去。”"),
        ("安静", "我看见安静站在门口。"),
        ("高峰", "高峰说他不来。"),
        ("马上", "他叫马上。"),
        ("亮亮", "亮亮的手很冷。"),
        ("雷锋", "大家都来学雷锋。"),
        ("愚公", "他讲了愚公移山的故事。"),
        ("陈平", "坐于陈平位上。"),
    ],
)
def test_a_chinese_name_that_is_a_word_is_found_where_it_is_a_name(name: str, text: str) -> None:
    assert mentions(name, text)


def test_somebodys_own_surname_may_stand_before_a_name() -> None:
    cast = {"liu": ["刘备", "玄德"], "wang": ["王建国", "建国"]}
    assert found(cast, "此刘玄德之弟也。") == ["玄德"]
    assert found(cast, "建国来了，王建国来了。") == ["建国", "王建国"]
    assert found(cast, "李建国来了。") == []


def test_what_follows_a_dot_is_another_persons_name_unless_both_are_theirs() -> None:
    assert found({"it": ["施密特"]}, "埃里克·施密特说。施密特笑了。") == ["施密特"]
    assert found({"it": ["艾伦", "耶格尔"]}, "艾伦·耶格尔说。") == ["艾伦", "耶格尔"]
    assert found({"it": ["王力宏"]}, "七律·王力宏") == ["王力宏"]
    assert found({"it": ["林远"]}, "他说——林远来了。") == ["林远"]


def test_half_of_a_double_name_is_another_persons() -> None:
    assert found({"it": ["Anna"]}, "Anna-Maria came; Anna did not.") == ["Anna"]
    assert found({"it": ["Jones"]}, "Smith-Jones came, a Jones-like man.") == ["Jones"]
    assert [match.surface for match in NameMatcher({"it": ["Lyon"]}).find("the Paris-Lyon line")] == ["Lyon"], "a place"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("O'Brien", "O’Brien’s lamp"),
        ("O’Brien", "O'Brien came"),
        ("Jon Snow", "Jon\nSnow came"),
        ("Jon Snow", "Jon\u00a0Snow came"),
        ("José", "Jose\u0301 came"),
        ("Jose\u0301", "JOSÉ came"),
        ("Fairy", "the Fairies came"),
        ("Wolf", "a pack of Wolves"),
        ("Waterman", "two Watermen"),
        ("Jones", "the Joneses’ lamp"),
        ("Watson", "the Watsons"),
        ("Murphy", "the Murphys"),
    ],
)
def test_a_name_is_found_however_it_is_set(name: str, text: str) -> None:
    assert mentions(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("さくら", "さくらんぼを食べた。"),
        ("さくら", "あさくらい海だった。"),
        ("아라", "아라비아에 갔다."),
        ("지수", "지수함수를 배웠다."),
        ("ケン", "ケンカになった。"),
        ("田中", "水田中間站着一個人。"),
    ],
)
def test_a_japanese_or_korean_name_that_goes_on_is_another_word(name: str, text: str) -> None:
    assert not mentions(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("さくら", "あのさくらちゃんが来た。"),
        ("さくら", "さくら、逃げろ。"),
        ("지수", "지수의 책"),
        ("지수", "지수야!"),
    ],
)
def test_a_japanese_or_korean_name_is_found_with_what_follows_it(name: str, text: str) -> None:
    assert mentions(name, text)
