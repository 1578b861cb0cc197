"""Rules with a condition: enforced with it, or left to the model."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.constraints.checks import check_text, explain_check
from fabula.constraints.conditions import read_opening
from fabula.constraints.model import (
    BannedWords,
    ChapterLimits,
    Constraint,
    ForbiddenNames,
    SentenceLength,
    TextCheck,
)
from fabula.constraints.rule_parser import parse_rule, read_rule
from fabula.core.story import Division, Position, Timeline, TimelineEntry

KNOWN = ("Dave", "Bob", "李四", "鲁智深")
LONG_BOOK = Timeline([TimelineEntry(f"ch-{n}") for n in range(1, 121)])


@pytest.mark.parametrize(
    "text",
    [
        "Do not mention Dave before the wedding.",
        "Do not mention Dave to Bob.",
        "Do not mention Dave, unless Bob asks.",
        "Do not mention Dave In Paris.",
        "Never mention Dave Sundays.",
        "Avoid the word 'home' unless Bob says it.",
        "Avoid the word home, usually.",
        "Sentences under 5 words in action scenes.",
        "Use 'grey', not 'gray'.",
        "Never use 'gray', use 'grey'.",
        "Not all semicolons are banned.",
        "Do not always use semicolons.",
        "You do not have to use semicolons.",
        "No exclamation marks, but only before chapter 5.",
        "No exclamation marks except in chapter 3.",
        "No exclamation marks before chapter 5 and after chapter 9.",
        "First person in Anna's chapters.",
        "结婚之前不得提到李四",
        "除非张三开口，不要用“家”字",
        "打斗场面每句不超过八字",
        "暂时不要提到李四",
        "不要再提到李四",
        "Do not mention Dave's brother.",
        "不要提到李四的弟弟",
        "李四死后，任何人不得提到李四",
        "不要把“她”写成“他”",
    ],
)
def test_a_condition_that_is_not_understood_leaves_the_rule_to_the_model(text: str) -> None:
    reading = read_rule(text, KNOWN)
    assert reading.check is None
    problem = explain_check(Constraint(id="c", text=text), LONG_BOOK, {name: (name,) for name in KNOWN}).problem
    assert problem == reading.reason
    assert str(problem) != str(read_rule("She limps.").reason)


def test_a_rule_that_no_program_checks_says_so() -> None:
    problem = explain_check(Constraint(id="c", text="She limps."), LONG_BOOK).problem
    assert str(problem) == "only a reader can tell whether it is kept"


def names(text: str, **limits: object) -> tuple[str, TextCheck]:
    name = "李四" if "李四" in text else "鲁智深" if "鲁智深" in text else "Dave"
    return text, replace(ForbiddenNames(names=(name,)), **limits)


@pytest.mark.parametrize(
    ("text", "check"),
    [
        names("第四回之前不得提到鲁智深", before_number=4),
        names("前三章不得提到李四", before_number=4),
        names("在前三章里不得提到李四", before_number=4),
        names("第十二章以前不要提到李四", before_number=12),
        names("从第五章起不得提到李四", from_number=5),
        names("第五章之后不得提到李四", from_number=6),
        names("第三卷之前不得提到李四", before_number=3, division="volume"),
        names("第二幕之前不得提到李四", before_number=2, division="act"),
        names("第三节以前不得提到李四", before_number=3, division="scene"),
        names("第二卷第三章之前不得提到李四", before_number=3, within=("volume", 2)),
        names("第七章至第九章不要提到李四", from_number=7, before_number=10),
        names("李四在第五章之前不得被提到", before_number=5),
        names("Do not mention Dave until part two.", before_number=2, division="part"),
        names("Do not mention Dave before chapter twelve.", before_number=12),
        names("Until chapter XII, never mention Dave.", before_number=12),
        names("Dave must not be mentioned after chapter 20.", from_number=21),
        names("From the third chapter on, do not mention Dave.", from_number=3),
        names("In the first three chapters, never mention Dave.", before_number=4),
        names("Do not mention Dave until the end of chapter 4.", before_number=5),
        names("Do not mention Dave before part 2, chapter 3.", before_number=3, within=("part", 2)),
        names("Do not mention Dave before chapter 3 of part 2.", before_number=3, within=("part", 2)),
        names("Nobody mentions Dave.", dialogue_only=True),
        ("In chapter 5, no exclamation marks.", BannedWords(words=("!", "！"), from_number=5, before_number=6)),
        ("Sentences under 20 words until chapter 3", SentenceLength(max_length=19, before_number=3)),
        (
            "No semicolons outside dialogue after chapter 2",
            BannedWords(words=(";", "；"), narration_only=True, from_number=3),
        ),
    ],
)
def test_an_understood_condition_is_part_of_the_check(text: str, check: TextCheck) -> None:
    assert parse_rule(text, KNOWN) == check


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The words very, really and just are banned.", ("very", "really", "just")),
        ("Banned words: very, really, just.", ("very", "really", "just")),
        ("Avoid the words very, really and just.", ("very", "really", "just")),
        ("Never use the words “very”, “really” and “just”.", ("very", "really", "just")),
        ("No 'very' and no 'really'.", ("very", "really")),
        ("不要使用「很」「非常」和「真的」", ("很", "非常", "真的")),
        ("「很」「非常」和「真的」一律不用", ("很", "非常", "真的")),
        ("禁用词：忽然、竟然、居然", ("忽然", "竟然", "居然")),
        ("不要用忽然、竟然这些词", ("忽然", "竟然")),
        ("No exclamation marks or semicolons.", ("!", "！", ";", "；")),
    ],
)
def test_lists_of_words_are_understood(text: str, words: tuple[str, ...]) -> None:
    assert parse_rule(text) == BannedWords(words=words)


def count_places(text: str, breaks: str, timeline: Timeline) -> list[int]:
    rule = Constraint(id="c", text=text)
    return [
        place
        for place, entry in enumerate(timeline.entries)
        if check_text(breaks, [rule], "zh", position=Position(entry.document), timeline=timeline)
    ]


def test_a_rule_with_hui_is_not_flagged_in_chapter_120() -> None:
    assert count_places("第四回之前不得提到鲁智深", "鲁智深来了。", LONG_BOOK) == [0, 1, 2]


def test_a_rule_with_a_chapter_is_not_enforced_where_the_place_is_unknown() -> None:
    rule = Constraint(id="c", text="第四回之前不得提到鲁智深")
    assert check_text("鲁智深来了。", [rule], "zh", timeline=LONG_BOOK) == []
    assert check_text("鲁智深来了。", [rule], "zh", position=Position("elsewhere"), timeline=LONG_BOOK) == []


def test_a_rule_counts_chapters_as_a_reader_does() -> None:
    book = Timeline(
        [
            TimelineEntry("prologue", divisions=()),
            *(TimelineEntry(f"c{n}", divisions=(("chapter", n),)) for n in (1, 2, 3)),
            TimelineEntry("interlude", divisions=()),
            *(TimelineEntry(f"c{n}", divisions=(("chapter", n),)) for n in (4, 5)),
        ]
    )
    assert count_places("第三章之前不得提到李四", "李四来了。", book) == [0, 1, 2]
    assert count_places("前三章不得提到李四", "李四来了。", book) == [0, 1, 2, 3, 4]
    assert count_places("第四章起不得提到李四", "李四来了。", book) == [5, 6]
    assert count_places("第九章之前不得提到李四", "李四来了。", book) == list(range(7)), "not written yet"


def volumes(*lengths: int) -> Timeline:
    rows: list[tuple[Division, ...]] = [
        (("volume", volume), ("chapter", chapter))
        for volume, length in enumerate(lengths, start=1)
        for chapter in range(1, length + 1)
    ]
    return Timeline([TimelineEntry(f"d{n}", divisions=row) for n, row in enumerate(rows)])


def test_a_number_that_several_volumes_have_is_not_enforced_and_says_why() -> None:
    book = volumes(3, 3)
    assert count_places("第三章之前不得提到李四", "李四来了。", book) == []
    assert count_places("前三章不得提到李四", "李四来了。", book) == []
    rule = Constraint(id="c", text="第三章之前不得提到李四")
    explained = explain_check(rule, book)
    assert explained.check is None
    assert str(explained.problem) == "the book has more than one chapter 3: write its part or volume too"
    assert count_places("第二卷第二章之前不得提到李四", "李四来了。", book) == [0, 1, 2, 3]
    assert count_places("第二卷之前不得提到李四", "李四来了。", book) == [0, 1, 2]
    assert count_places("第一卷第三章起不得提到李四", "李四来了。", book) == [2, 3, 4, 5]


def test_a_part_that_the_book_does_not_have_is_not_enforced_and_says_why() -> None:
    rule = Constraint(id="c", text="Do not mention Dave until part two.")
    explained = explain_check(rule, LONG_BOOK)
    assert (explained.check, str(explained.problem)) == (None, "the book has no part 2")
    assert check_text("Dave came.", [rule], "en", position=Position("ch-1"), timeline=LONG_BOOK) == []


ENGLISH_RULES = [
    "do not mention Dave",
    "Dave must not be mentioned",
    "no exclamation marks",
    "never use the word 'home'",
    "avoid the words very, really and just",
    "semicolons are forbidden",
    "no sentence longer than 12 words",
    "sentences under 12 words",
    "write in the third person",
]
CHINESE_RULES = [
    "不得提到李四",
    "不要使用感叹号",
    "禁止使用“忽然”一词",
    "每句不超过三十字",
    "用第三人称叙述",
    "感叹号一律不用",
]
LINKS = st.sampled_from(
    [
        *(
            "before",
            "after",
            "until",
            "unless",
            "except",
            "while",
            "when",
            "if",
            "in",
            "on",
            "at",
            "to",
            "for",
            "during",
        ),
        *(
            "with",
            "as long as",
            "once",
            "whenever",
            "outside",
            "near",
            "among",
            "but not in",
            "except for",
            "in case of",
        ),
    ]
)
WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=12)
NOUNS = st.tuples(st.sampled_from(["", "the ", "her ", "every "]), WORDS, st.booleans()).map(
    lambda parts: parts[0] + (parts[1].capitalize() if parts[2] else parts[1])
)
HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=2, max_size=6)


@given(
    st.sampled_from(ENGLISH_RULES),
    LINKS,
    st.lists(NOUNS, min_size=1, max_size=3),
    st.sampled_from(["end", "start", "comma"]),
)
def test_no_english_rule_is_enforced_without_its_condition(rule: str, link: str, nouns: list[str], place: str) -> None:
    condition = f"{link} {' '.join(nouns)}"
    text = {"end": f"{rule} {condition}", "start": f"{condition}, {rule}", "comma": f"{rule}, {condition}"}[place]
    assert parse_rule(rule, KNOWN) is not None
    assert parse_rule(f"{text.capitalize()}.", KNOWN) is None
    assert parse_rule(text) is None


@given(
    st.sampled_from(CHINESE_RULES),
    HAN,
    st.sampled_from(
        [
            *(
                "{}之前，",
                "{}以前",
                "在{}里",
                "{}的时候",
                "除非{}，",
                "只要{}就",
                "对{}",
                "{}期间，",
                "{}时，",
                "如果{}，",
                "到{}为止",
            ),
            *("{}面前", "{}的场景中", "除了{}，", "直到{}，"),
        ]
    ),
    st.booleans(),
)
def test_no_chinese_rule_is_enforced_without_its_condition(rule: str, words: str, link: str, is_last: bool) -> None:
    assume(not any(character in words for character in "章回话卷册集节部幕"))  # those conditions are understood
    condition = link.format(words)
    assert parse_rule(rule, KNOWN) is not None
    assert parse_rule(f"{rule}，{condition.strip('，')}" if is_last else f"{condition}{rule}", KNOWN) is None


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("Before chapter 36, nobody knows whose son he is.", ChapterLimits(before_number=36)),
        ("Before Chapter Thirty-Six the lighthouse must stay dark", ChapterLimits(before_number=36)),
        ("Before chapter 36: no kisses.", ChapterLimits(before_number=36)),
        ("Until the end of chapter 5 keep his motives hidden.", ChapterLimits(before_number=6)),
        ("Not until chapter 9 may anybody open the vault.", ChapterLimits(before_number=9)),
        ("In chapters 3 to 5 it must rain.", ChapterLimits(from_number=3, before_number=6)),
        ("From chapter 5 on, she has one arm.", ChapterLimits(from_number=5)),
        ("Before part 2, chapter 3, they never meet.", ChapterLimits(before_number=3, within=("part", 2))),
        ("第三十六章之前，玛拉不知道父亲是谁。", ChapterLimits(before_number=36)),
        ("第36章以前玛拉不知道父亲是谁", ChapterLimits(before_number=36)),
        ("前三章不写凶手的动机", ChapterLimits(before_number=4)),
        ("从第五章起，她只有一只手臂", ChapterLimits(from_number=5)),
    ],
)
def test_a_rule_that_only_a_reader_can_check_holds_in_the_chapters_it_begins_with(
    text: str, limits: ChapterLimits
) -> None:
    assert read_rule(text, KNOWN).check is None
    assert read_opening(text) == limits


@pytest.mark.parametrize(
    "text",
    [
        "Remember what happened before chapter 5.",
        "Nobody knows whose son he is before chapter 36.",  # may be part of what nobody knows
        "Before chapter 5 she lost an arm.",
        "Before chapter 36 she did not know her father.",
        "Before chapter 36 she is a spy; later she is free.",
        "Before chapter 36 nobody laughs, and after chapter 40 neither.",
        "Before the wedding nobody laughs.",
        "In chapter 3 she loses an arm.",
        "Before chapter 36.",
        "第三十六章之前玛拉失去了手臂",
        "第五章之前，她是间谍，后来自由",
        "第五章之前发生的事不能忘记",
        "第三十六章之前和第四十章之后不能下雨",
        "婚礼之前谁也不笑",
    ],
)
def test_a_rule_that_may_hold_in_other_chapters_too_holds_in_all(text: str) -> None:
    assert read_opening(text) is None


def test_the_list_says_where_a_rule_is_sent_that_begins_with_chapters() -> None:
    explained = explain_check(Constraint(id="c", text="Before chapter 36, nobody knows whose son he is."), LONG_BOOK)
    assert explained.check is None
    assert str(explained.chapters) == "before chapter 36"
