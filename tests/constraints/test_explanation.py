"""Rules that are left to the model say why, in words of their own."""

from __future__ import annotations

import pytest

from fabula.constraints.checks import check_text, explain_check
from fabula.constraints.model import BannedWords, Constraint, ForbiddenNames, TextCheck
from fabula.constraints.rule_parser import parse_rule, read_rule
from fabula.core.story import Position, Timeline, TimelineEntry

KNOWN = ("Ilse", "Voss", "薛蟠", "张三", "晴雯", "宝玉", "伏地魔")
LEFT = [
    ("No more than three exclamation marks per chapter.", "it is about how many or how often, “No more than three”"),
    ("At most one semicolon a page.", "it is about how many or how often, “At most one”"),
    ('Use the word "suddenly" only once.', "it is about how many or how often, “only once”"),
    (
        'Never use "very" more than twice in a chapter.',
        "it is about how many or how often, “more than twice in a chapter”",
    ),
    ("No more than two similes in a paragraph.", "it is about how many or how often, “No more than two”"),
    ("Each chapter has at least 2000 words.", "it is about how many or how often, “at least 2000 words”"),
    ('Don\'t say "okay" until the war is over.', "it has a condition, “until the war is over”"),
    (
        'No one may say "goodbye" when her father is in the room.',
        "it has a condition, “when her father is in the room”",
    ),
    ('Mara never says "sorry".', "a program does not understand “Mara never says”"),
    ("Never name the killer before the last chapter.", "it has a condition, “before the last chapter”"),
    ("Don't name Voss while Ilse is present.", "it has a condition, “while Ilse is present”"),
    ("Never mention Ilse at the funeral.", "it has a condition, “at the funeral”"),
    ("No contractions in the narration.", "only a reader can tell whether it is kept"),
    ('Do not use the word "blood" in scenes with children.', "it has a condition, “in scenes with children”"),
    ('The word "war" must not appear in letters.', "it has a condition, “in letters”"),
    ("No adverbs.", "only a reader can tell whether it is kept"),
    ("No chapter may be longer than 5000 words.", "a program measures sentences and paragraphs, not chapters"),
    ("In part two nobody is called Ahab.", "a program cannot tell who is called what"),
    (
        "Do not mention Ahab in the prologue.",
        "a program knows chapters and parts by their numbers only, not “the prologue”",
    ),
    ("楔子里不许提到吕布。", "a program knows chapters and parts by their numbers only, not “楔子”"),
    ("Keep sentences short during fights.", "it has a condition, “during fights”"),
    ("Keep sentences under 12 words during fights.", "it has a condition, “during fights”"),
    ("Anna never smiles before the wedding.", "it has a condition, “before the wedding”"),
    ("After the fire, nobody trusts the mayor.", "it has a condition, “After the fire”"),
    ("Ilse limps.", "only a reader can tell whether it is kept"),
    ("The sea is never blue.", "only a reader can tell whether it is kept"),
    ("Write in first person except in the letters.", "it has a condition, “except in the letters”"),
    ("No flashbacks until part three.", "only a reader can tell whether it is kept"),
    ('Never use "the Order" in Ilse\'s chapters.', "it has a condition, “in Ilse's chapters”"),
    ('Don\'t let anyone say "amen" in church.', "it has a condition, “in church”"),
    ('Don\'t overuse "suddenly".', "it is about how many or how often, “overuse”"),
    ("每章最多两个感叹号。", "it is about how many or how often, “每章最多两个”"),
    ("每页不超过一个省略号。", "it is about how many or how often, “每页不超过一个”"),
    ("“忽然”最多用三次。", "it is about how many or how often, “最多用三次”"),
    ("不要用“忽然”超过两次。", "it is about how many or how often, “超过两次”"),
    ("林黛玉死之前不要提到薛蟠。", "it has a condition, “林黛玉死之前”"),
    ("在贾母面前不许说“死”字。", "it has a condition, “在贾母面前”"),
    ("吵架的时候不要用“您”。", "it has a condition, “吵架的时候”"),
    ("除了书信，不要用破折号。", "it has a condition, “除了书信”"),
    ("打斗场面不要用“慢慢”。", "it has a condition, “打斗场面”"),
    ("除非下雨，谁也不许提到张三。", "it has a condition, “除非下雨”"),
    ("不要滥用“仿佛”。", "it is about how many or how often, “滥用”"),
    ("她从不哭。", "only a reader can tell whether it is kept"),
    ("主角在父亲去世后不再笑。", "it has a condition, “主角在父亲去世后”"),
    ("夜里的场景中不要出现“阳光”。", "it has a condition, “夜里的场景中”"),
    ("每章不少于三千字。", "it is about how many or how often, “每章不少于三千字”"),
    ("回忆里用第一人称。", "it has a condition, “回忆里”"),
    ("对宝玉不要提到晴雯。", "it has a condition, “对宝玉”"),
    ("如果张三在场，谁都不许说“钱”。", "it has a condition, “如果张三在场”"),
    ("请不要用“的”字开头。", "a program does not understand “开头”"),
]


@pytest.mark.parametrize(("text", "reason"), LEFT)
def test_a_rule_that_is_left_to_the_model_names_what_is_not_understood(text: str, reason: str) -> None:
    reading = read_rule(text, KNOWN)
    assert reading.check is None
    assert str(reading.reason) == reason


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("谁也不许说“好的”。", BannedWords(words=("好的",), dialogue_only=True)),
        ("谁都不能说“再见”。", BannedWords(words=("再见",), dialogue_only=True)),
        ("任何人不得说“魔法”二字。", BannedWords(words=("魔法",), dialogue_only=True)),
        ("没有人会说“我爱你”。", BannedWords(words=("我爱你",), dialogue_only=True)),
        ("所有人物都不许说“OK”。", BannedWords(words=("OK",), dialogue_only=True)),
        ("没人敢提到伏地魔。", ForbiddenNames(names=("伏地魔",), dialogue_only=True)),
        ("第十章之前谁也不许说“皇上”。", BannedWords(words=("皇上",), dialogue_only=True, before_number=10)),
        ("None of the characters says 'okay'.", BannedWords(words=("okay",), dialogue_only=True)),
        ("Characters never say 'okay'.", BannedWords(words=("okay",), dialogue_only=True)),
    ],
)
def test_what_nobody_may_say_is_banned_in_dialogue(text: str, check: TextCheck) -> None:
    assert parse_rule(text, KNOWN) == check


def test_what_nobody_may_say_may_stand_in_the_narration() -> None:
    rule, book = Constraint(id="c", text="谁也不许说“好的”。"), Timeline([TimelineEntry("one")])
    said = check_text("“好的。”他点头。", [rule], "zh", position=Position("one"), timeline=book)
    told = check_text("他找到了好的位置。", [rule], "zh", position=Position("one"), timeline=book)
    assert (len(said), told) == (1, [])


def test_a_rule_too_long_for_a_program_says_so() -> None:
    problem = explain_check(Constraint(id="c", text="No 'very'. " * 50), Timeline()).problem
    assert str(problem) == "it is too long for a program to understand"
