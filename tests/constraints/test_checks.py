"""Checks by program name the constraint, the span and the reason (con-4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.constraints.checks import Violation, check_text, find_check
from fabula.constraints.model import BannedWords, Constraint, ForbiddenNames, NarrativePerson, SentenceLength, TextCheck
from fabula.constraints.sentence_length import count_length
from fabula.core.story import Position, Timeline, TimelineEntry
from fabula.core.view import Language

STORY = Timeline([TimelineEntry(f"ch-{n}") for n in range(1, 10)])


def check(text: str, *checks: TextCheck | str, language: Language = "en") -> list[Violation]:
    rules = [
        Constraint(id=f"c{n}", text=rule) if isinstance(rule, str) else Constraint(id=f"c{n}", text="-", check=rule)
        for n, rule in enumerate(checks)
    ]
    found = check_text(text, rules, language)
    for violation in found:
        assert text[violation.start : violation.end] == violation.words
    return found


def words(text: str, *checks: TextCheck | str, language: Language = "en") -> list[str]:
    return [violation.words for violation in check(text, *checks, language=language)]


def test_a_violation_names_its_constraint_its_place_and_its_words() -> None:
    assert check("Stop! he said.", "No exclamation marks.") == [
        Violation(constraint="c0", start=4, end=5, words="!", sentence="“!” is not to be used.")
    ]
    (found,) = check("停！他说。", "不要使用感叹号", language="zh")
    assert (found.start, found.words, found.sentence) == (1, "！", "不得使用“！”。")


def test_a_banned_word_is_found_by_itself_and_in_any_case() -> None:
    banned = BannedWords(words=("suddenly", "can", "god"))
    assert words("Suddenly it came, SUDDENLY.", banned) == ["Suddenly", "SUDDENLY"]
    assert words("Unsuddenly he can't scan a candle, cannot.", banned) == []
    assert words("God's will be done.", banned) == ["God"]


def test_a_banned_word_may_be_a_phrase_or_look_like_a_pattern() -> None:
    assert words("It was as if it rained, a.b and axb.", BannedWords(words=("as if", "a.b"))) == ["as if", "a.b"]
    assert words("He paid (.*) for it", BannedWords(words=("(.*)", "[a-z]+"))) == ["(.*)"]


def test_a_chinese_word_is_found_where_a_word_begins() -> None:
    assert words("他忽然站起来，忽然间笑了。", BannedWords(words=("忽然",)), language="zh") == ["忽然", "忽然"]
    assert words("今天天气很好，昨天也是。", BannedWords(words=("天",)), language="zh") == []
    assert words("他说了，说得很轻。", BannedWords(words=("说",)), language="zh") == ["说", "说"]


def test_a_run_of_marks_is_one_violation() -> None:
    assert words("What?!! No!", "No exclamation marks") == ["!!", "!"]


def test_marks_in_dialogue_are_allowed_where_only_narration_is_meant() -> None:
    assert words("“Stop!” he said! “No!”", "No exclamation marks in narration") == ["!"]
    assert len(check("“Stop!” he said! “No!”", "No exclamation marks")) == 3


def test_long_sentences_are_found_by_words_in_english() -> None:
    text = "One two three. One two three four, don't you-know. End"
    found = check(text, SentenceLength(max_length=4))
    assert [violation.words for violation in found] == ["One two three four, don't you-know."]
    assert found[0].sentence == "This sentence has 6 words, and 4 are the most."


def test_long_sentences_are_found_by_characters_in_chinese() -> None:
    text = "他走了。他在2024年的冬天离开了这座城市。\n标题没有句号"
    found = check(text, "每句不超过10字", language="zh")
    assert [violation.words for violation in found] == ["他在2024年的冬天离开了这座城市。"]
    assert found[0].sentence == "这一句有14字，最多10字。"


def test_a_third_person_narration_has_no_i_of_its_own() -> None:
    text = "She left. “I know,” I said, “we know.” My lamp was out, and we slept."
    assert words(text, "Third person narration") == ["I", "My", "we"]
    assert words("Chapter I told of World War I, a mine and the US.", NarrativePerson(person="third")) == []
    assert words("The lamp was mine. It was I.", NarrativePerson(person="third")) == ["mine", "I"]


def test_a_chinese_third_person_narration_has_no_wo_of_its_own() -> None:
    assert words("她走了。“我知道，”我说。我们睡了。", "第三人称叙述", language="zh") == ["我", "我们"]
    assert words("他忘我地工作，自我介绍时提到我国。", NarrativePerson(person="third"), language="zh") == []


def test_a_first_person_narration_mentions_its_narrator() -> None:
    others = "She walked down to the water and he followed her. " * 6
    assert words(others, "Write in the first person") == ["She walked down to the water and he followed her."]
    assert words(others + "I saw them.", "Write in the first person") == []
    assert words("She left. He stayed.", "Write in the first person") == [], "too little to tell"
    assert words("“I know,” she said. " + others, NarrativePerson(person="first")) == ["“I know,” she said."]
    chinese = "她沿着石阶往下走，他跟在后面，没有说话。" * 5
    assert len(check(chinese, "严格第一人称叙述", language="zh")) == 1
    assert check(chinese + "我停下来。", "严格第一人称叙述", language="zh") == []


def test_a_name_is_forbidden_before_a_chapter_with_all_other_names_of_its_entry() -> None:
    rule = Constraint(id="fox", text="Do not mention Ephraim before chapter 5")
    entry_names = {"ephraim": ("Ephraim", "the Fox"), "will": ("Will",)}
    text = "Will met the Fox, not Ephraimson. Ephraim's lamp."

    def found(chapter: int) -> list[str]:
        here = Position(f"ch-{chapter}", 0)
        return [
            violation.words
            for violation in check_text(text, [rule], "en", position=here, timeline=STORY, entry_names=entry_names)
        ]

    assert found(4) == ["the Fox", "Ephraim"]
    assert found(5) == []


def test_a_name_may_be_forbidden_by_the_id_of_its_entry_for_the_span_of_the_constraint() -> None:
    rule = Constraint(id="lin", text="-", check=ForbiddenNames(names=("linyuan",)), until=Position("ch-3", 0))
    entry_names = {"linyuan": ("林远", "阿远")}
    for chapter, expected in ((2, ["阿远"]), (3, [])):
        here = Position(f"ch-{chapter}", 5)
        found = check_text("树林远处，阿远来了。", [rule], "zh", position=here, timeline=STORY, entry_names=entry_names)
        assert [violation.words for violation in found] == expected


def test_names_that_come_later_in_the_story_are_too_early_before() -> None:
    later = {"the Fox": Position("ch-5", 0)}
    for chapter, expected in ((4, ["the Fox"]), (5, [])):
        found = check_text(
            "He met the Fox.", (), "en", position=Position(f"ch-{chapter}"), timeline=STORY, later_names=later
        )
        assert [violation.words for violation in found] == expected
    assert check_text("He met the Fox.", (), "en", timeline=STORY, later_names=later) == [], "nobody said where we are"


def test_a_constraint_outside_its_span_is_not_checked() -> None:
    rule = Constraint(id="c", text="No exclamation marks", since=Position("ch-2"), until=Position("ch-4"))
    found = [bool(check_text("No!", [rule], "en", position=Position(f"ch-{n}"), timeline=STORY)) for n in range(1, 6)]
    assert found == [False, True, True, False, False]


def test_the_check_of_a_constraint_takes_precedence_over_its_text() -> None:
    rule = Constraint(id="c", text="No exclamation marks", check=BannedWords(words=("?",)))
    assert find_check(rule) == BannedWords(words=("?",))
    assert [violation.words for violation in check_text("No! No?", [rule], "en")] == ["?"]


def test_violations_come_in_the_order_of_the_text() -> None:
    text = "I ran! Suddenly we fell; I stopped."
    found = check(text, "Third person", "No exclamation marks", BannedWords(words=("suddenly", ";")))
    assert [violation.start for violation in found] == sorted(violation.start for violation in found)
    assert [violation.words for violation in found] == ["I", "!", "Suddenly", "we", ";", "I"]


PIECES = st.sampled_from(
    [
        *("I", "me", "she", "he said", "suddenly", "Mara", "Mara's", "a night"),
        *("我", "我们", "他", "忽然", "林远", "树林远处", "🏮", "\n", "\n\n", " "),
        *("“", "”", '"', "'", "‘", "’", "「", "」", "!", "！", ". ", "。", "…"),
    ]
)
RULES: list[TextCheck] = [
    BannedWords(words=("suddenly", "忽然", "!", "！")),
    BannedWords(words=("he", "他"), narration_only=True),
    SentenceLength(max_length=3),
    SentenceLength(max_length=4, unit="characters"),
    NarrativePerson(person="first"),
    NarrativePerson(person="second"),
    NarrativePerson(person="third"),
    ForbiddenNames(names=("Mara", "林远")),
]


@pytest.mark.parametrize("language", ["en", "zh"])
@given(pieces=st.lists(PIECES, max_size=40))
def test_spans_are_inside_the_text_and_match_its_words(language: Language, pieces: list[str]) -> None:
    text = "".join(pieces)
    for number, rule in enumerate(RULES):
        past = 0
        for violation in check_text(text, [Constraint(id=f"c{number}", text="-", check=rule)], language):
            assert violation.constraint == f"c{number}"
            assert past <= violation.start < violation.end <= len(text)
            assert violation.words == text[violation.start : violation.end] == violation.words.strip()
            assert violation.sentence
            past = violation.end
            if isinstance(rule, BannedWords):
                assert violation.words.lower() in rule.words or set(violation.words) <= {"!", "！"}
            elif isinstance(rule, SentenceLength):
                assert count_length(violation.words, rule.unit, language) > rule.max_length
            elif isinstance(rule, ForbiddenNames):
                assert violation.words in rule.names


@given(st.text(max_size=200))
def test_any_text_can_be_checked(text: str) -> None:
    rules = [Constraint(id=f"c{n}", text="-", check=rule) for n, rule in enumerate(RULES)]
    for language in ("en", "zh"):
        for violation in check_text(text, rules, "zh" if language == "zh" else "en"):
            assert text[violation.start : violation.end] == violation.words != ""


def test_a_long_text_is_checked_quickly() -> None:
    text = "He said “I am not the one, and she is.” Suddenly it rained!\n" * 5_000
    assert len(check(text, *RULES)) > 5_000


def test_a_second_person_narration_mentions_you() -> None:
    text = "He walked on and she followed him. " * 8
    (violation,) = check(text, NarrativePerson(person="second"))
    assert violation.words == "He walked on and she followed him."
    assert "you" in violation.sentence
    assert check(f"{text} You saw it.", NarrativePerson(person="second")) == []
    (violation,) = check("他走了，她也跟着走了。" * 8, NarrativePerson(person="second"), language="zh")
    assert "“你”" in violation.sentence


def test_the_narrator_is_not_in_every_chinese_word_with_i_in_it() -> None:
    text = "他们自我介绍，我行我素，你死我活，卿卿我我，忘我地工作。"
    assert check(text, NarrativePerson(person="third"), language="zh") == []
    assert [
        violation.start for violation in check(f"{text}我走了。", NarrativePerson(person="third"), language="zh")
    ] == [len(text)]


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("Quillfeather", ["Quillfeather"]),  # an alias that is revealed later
        ("the Tallyman", ["The Tallyman", "Quillfeather", "Old Ink"]),
        ("Tallyman", ["The Tallyman", "Quillfeather", "Old Ink"]),  # a part of the main name
        ("tallyman-id", ["The Tallyman", "Quillfeather", "Old Ink"]),
    ],
)
def test_a_name_that_is_not_the_main_one_forbids_itself_alone(named: str, found: list[str]) -> None:
    entries = {"tallyman-id": ("the Tallyman", "Tallyman", "Quillfeather", "Old Ink")}
    rule = Constraint(id="r", text="Keep it.", check=ForbiddenNames(names=(named,)))
    text = "The Tallyman bowed. Quillfeather, said Mara. Old Ink laughed."
    assert [one.words for one in check_text(text, [rule], "en", entry_names=entries)] == found
