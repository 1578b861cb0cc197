"""A habit of a writer is proposed, and nothing is proposed for writers without one (mem-2)."""

from __future__ import annotations

import re
from random import Random

import pytest

from fabula.core.view import Language
from fabula.memory.model import Decision, SuggestionOutcome
from fabula.memory.proposals import (
    MIN_CHANCE,
    MIN_LOG_ODDS,
    MIN_VOTES_FOR,
    MIN_WORD_LOG_ODDS,
    Vote,
    analyse_outcome,
    compute_log_odds,
    find_proposals,
    find_supporting_outcomes,
)
from tests.memory.writers import (
    Change,
    accept_at_random,
    delete_at_random,
    find_supported_topics,
    make_outcomes,
    make_rejecting_writer,
    make_replacing_writer,
    pages,
)

LANGUAGES: tuple[Language, ...] = ("en", "zh")


def with_marks(language: Language) -> list[str]:
    """Pages of which every other one is a little too loud."""
    stop = "." if language == "en" else "。"
    loud = "!" if language == "en" else "！"
    return [page.replace(stop, loud, 2) if n % 2 else page for n, page in enumerate(pages(language)[:24])]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_writer_who_always_removes_exclamation_marks_gets_that_proposal_and_no_other(language: Language) -> None:
    calm = make_outcomes(make_replacing_writer("[!！]", "." if language == "en" else "。"), with_marks(language))
    (found,) = (one for one in find_proposals(calm, language) if one.is_supported)
    assert (found.topic, found.votes_against) == ("mark:!=less", 0)
    assert found.text == {"en": "Avoid exclamation marks.", "zh": "不要使用感叹号。"}[language]
    assert found.votes_for == sum(one.decision is Decision.REWRITTEN for one in calm)
    assert 0 < len(found.evidence) <= 8
    ident, _, quote = found.evidence[-1].partition(": ")
    assert ident in {one.id for one in calm}
    assert "!" in quote or "！" in quote


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "writer", [lambda text, _: text, accept_at_random, delete_at_random], ids=["content", "whimsical", "deleting"]
)
def test_of_a_writer_without_habits_nothing_is_proposed(language: Language, writer: Change) -> None:
    for seed in range(8):
        assert find_supported_topics(make_outcomes(writer, with_marks(language), seed=seed), language) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_pages_in_place_of_those_offered_show_no_habit(language: Language) -> None:
    others = with_marks(language)

    def replaces(text: str, random: Random) -> str:
        return random.choice(others)

    for seed in range(8):
        assert find_supported_topics(make_outcomes(replaces, with_marks(language), seed=seed), language) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_writer_who_removes_them_half_the_time_has_no_habit(language: Language) -> None:
    def moody(text: str, random: Random) -> str:
        return re.sub("[!！]", "," if language == "en" else "，", text) if random.random() < 0.5 else text

    found = [
        find_supported_topics(make_outcomes(moody, with_marks(language), seed=seed), language) for seed in range(20)
    ]
    assert sum(map(bool, found)) <= 1


def test_a_few_outcomes_are_too_few() -> None:
    loud = with_marks("en")
    calm = make_replacing_writer("!", ".")
    assert MIN_VOTES_FOR == 4
    assert find_supported_topics(make_outcomes(calm, loud[: 2 * MIN_VOTES_FOR - 1]), "en") == []
    assert find_supported_topics(make_outcomes(calm, loud[: 2 * MIN_VOTES_FOR]), "en") == ["mark:!=less"]


def test_rejections_speak_where_it_is_known_how_often_others_are_rejected() -> None:
    loud = [page.replace(".", "!", 2) if n % 2 else page.replace("!", ".") for n, page in enumerate(pages("en")[:30])]
    assert find_supported_topics(make_outcomes(make_rejecting_writer("!"), loud), "en") == ["mark:!=less"]
    assert find_supported_topics(make_outcomes(make_rejecting_writer("!"), loud[1::2]), "en") == [], (
        "with nothing to compare, a rejection says nothing"
    )


def split_sentences(text: str, _: Random) -> str:
    """A writer who makes two sentences of one at every comma."""
    english = re.sub(r", (\w)", lambda found: ". " + found[1].upper(), text)
    return english.replace("，", "。")


@pytest.mark.parametrize("language", LANGUAGES)
def test_shorter_sentences_are_noticed(language: Language) -> None:
    found = find_supported_topics(make_outcomes(split_sentences, pages(language)[:12]), language)
    assert found == ["sentence=less"]


def join_sentences(text: str, _: Random) -> str:
    """A writer who makes one sentence of two."""
    english = re.sub(r"\. ([A-Z])", lambda found: ", and " + found[1].lower(), text)
    return re.sub("。(?=[^\n”」』])", "，", english)


@pytest.mark.parametrize("language", LANGUAGES)
def test_longer_ones_too(language: Language) -> None:
    assert "sentence=more" in find_supported_topics(make_outcomes(join_sentences, pages(language)[:14]), language)


def test_paragraphs_that_are_broken_up_are_noticed() -> None:
    def broken(text: str, _: Random) -> str:
        return re.sub(r"([.!?][”\"]?) ", r"\1\n\n", text)

    assert find_supported_topics(make_outcomes(broken, pages("en")[:12]), "en") == ["paragraph=less"]


def test_speech_that_is_added_or_taken_out_is_noticed() -> None:
    def quiet(text: str, _: Random) -> str:
        return re.sub(r"[“\"][^”\"\n]*[”\"]", "", text)

    def chatty(text: str, _: Random) -> str:
        return "\n\n".join(f"“{line}”" if n % 2 else line for n, line in enumerate(text.split("\n\n")))

    offered = [page for page in pages("en") if page.count('"') + page.count("“") >= 4][:14]
    assert "dialogue=less" in find_supported_topics(make_outcomes(quiet, offered), "en")
    told = ["\n\n".join(f"The tide came in over the stones, {n} and {m} times." for m in range(6)) for n in range(14)]
    assert "dialogue=more" in find_supported_topics(make_outcomes(chatty, told), "en")


def test_a_word_that_always_goes_is_noticed() -> None:
    offered = [page.replace(". ", ". Suddenly ", 1) if n % 2 else page for n, page in enumerate(pages("en")[:24])]
    found = find_supported_topics(make_outcomes(make_replacing_writer(r"(?i)suddenly "), offered), "en")
    assert found == ["word:suddenly=less"]
    zh = [page.replace("。", "。忽然，", 1) if n % 2 else page for n, page in enumerate(pages("zh")[:24])]
    assert find_supported_topics(make_outcomes(make_replacing_writer("忽然，?"), zh), "zh") == ["word:忽然=less"]


def test_a_phrase_that_always_goes_is_noticed_and_a_name_is_no_word() -> None:
    tale = "The lamp was low{n}. {said} He went on to the landing stage, and the sea came after him, grey and slow{n}."
    offered = [tale.format(n=n, said="He let out a breath." if n % 2 else "Nothing came.") for n in range(24)]
    found = find_supported_topics(make_outcomes(make_replacing_writer(r"He let out a breath\. "), offered), "en")
    assert found == ["phrase:let out a=less"] or found == ["phrase:out a breath=less"] or found == ["word:breath=less"]
    named = [tale.format(n=n, said="It was said that Ephraim knew.") for n in range(12)]
    assert "word:ephraim=less" not in find_supported_topics(
        make_outcomes(make_replacing_writer("Ephraim"), named), "en"
    )


def test_adverbs_and_similes_are_noticed() -> None:
    words = ("slowly", "quietly", "gently", "sharply", "calmly")
    offered = [f"{page} He turned {words[n % 5]} and went." for n, page in enumerate(pages("en")[:12])]
    offered = [re.sub(r"\b(?!slowly|quietly|gently|sharply|calmly)[a-z]{3,}ly\b", "so", page) for page in offered]
    assert "adverb=less" in find_supported_topics(
        make_outcomes(make_replacing_writer(r" (?:slowly|quietly|gently|sharply|calmly)"), offered), "en"
    )
    likened = [re.sub(r"as if|as though|like an?", "with", page) + " It rose like a wall." for page in offered]
    assert "simile=less" in find_supported_topics(make_outcomes(make_replacing_writer(r" like a wall"), likened), "en")
    zh = [re.sub("仿佛|好像|如同|似的", "", page) + "它仿佛一堵墙。" for page in pages("zh")[:12]]
    assert "simile=less" in find_supported_topics(make_outcomes(make_replacing_writer("仿佛"), zh), "zh")


def test_a_change_of_person_or_tense_is_noticed() -> None:
    first = [
        f"I went to the door{n}. I saw him and I knew. My hand was cold. I had said so. It was late." for n in range(8)
    ]

    def third(text: str, _: Random) -> str:
        return text.replace("and I", "and she").replace("I ", "She ").replace("My", "Her")

    assert find_supported_topics(make_outcomes(third, first), "en") == ["person=third"]

    def present(text: str, _: Random) -> str:
        for old, new in (("went", "goes"), ("saw", "sees"), ("knew", "knows"), ("was", "is"), ("had", "has")):
            text = text.replace(old, new)
        return text.replace("said", "says")

    assert "tense=present" in find_supported_topics(make_outcomes(present, first), "en")
    zh = [f"我走到门口{n}。我看见他，我知道了。我的手很冷。" for n in range(8)]
    assert "person=third" in find_supported_topics(make_outcomes(make_replacing_writer("我", "她"), zh), "zh")


def test_more_of_a_mark_is_noticed() -> None:
    def dashing(text: str, _: Random) -> str:
        return text.replace("—", ", ").replace(", ", " — ", 4)

    calm = [page.replace("—", ", ") for page in pages("en")[:14]]
    assert "mark:—=more" in find_supported_topics(make_outcomes(dashing, calm), "en")


def test_what_follows_a_memory_in_the_prompt_is_no_evidence_for_it() -> None:
    loud = [page.replace(".", "!", 2) if n % 2 else page.replace("!", ".") for n, page in enumerate(pages("en")[:30])]
    told = {f"o{n}": frozenset({"mark:!"}) for n in range(30)}
    rejected = make_outcomes(make_rejecting_writer("!"), loud)
    assert find_supported_topics(rejected, "en") == ["mark:!=less"]
    assert find_supported_topics(rejected, "en", told) == [], "the model had been told: the writer changed nothing"
    accepted = make_outcomes(lambda text, _: text, [page.replace("!", ".") for page in loud])
    assert [one for one in find_proposals(accepted, "en", told) if one.topic == "mark:!=less"] == []
    rewritten = make_outcomes(make_replacing_writer("!", "."), loud)
    assert find_supported_topics(rewritten, "en", told) == ["mark:!=less"], (
        "what the writer changes counts, told or not"
    )


def test_the_odds_are_those_that_the_rules_state() -> None:
    outcome = analyse_outcome(SuggestionOutcome(suggestion="x", decision=Decision.ACCEPTED), "en", frozenset())
    agreeing = [Vote(outcome, True, MIN_CHANCE) for _ in range(MIN_VOTES_FOR)]
    assert compute_log_odds(agreeing[:-1]) < MIN_LOG_ODDS <= compute_log_odds(agreeing) < MIN_WORD_LOG_ODDS
    assert compute_log_odds([*agreeing, Vote(outcome, False, MIN_CHANCE)]) < MIN_LOG_ODDS


def test_whoever_spoke_for_something_can_be_named() -> None:
    calm = make_outcomes(make_replacing_writer("!", "."), with_marks("en"))
    rewritten = {one.id for one in calm if one.decision is Decision.REWRITTEN}
    assert set(find_supporting_outcomes("mark:!=less", calm, "en")) == rewritten
    assert find_supporting_outcomes("word:nothing=less", calm, "en") == []
    assert find_supporting_outcomes("person=first", calm, "en") == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("offered", "became"),
    [
        ("x", "!"),
        ("!!!", "…"),
        ("\n\n\n", "“"),
        ("“" * 500, "」"),
        ("word " * 20_000, "w"),
        ("字" * 20_000, "。"),
        ("\x1f", "a"),
    ],
)
def test_odd_texts_harm_nobody(language: Language, offered: str, became: str) -> None:
    odd = [
        SuggestionOutcome(id=str(n), suggestion=offered, decision=Decision.REWRITTEN, rewritten_text=became)
        for n in range(6)
    ]
    for one in find_proposals(odd, language):
        assert one.votes_for + one.votes_against > 0
