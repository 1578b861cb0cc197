"""Names that a manuscript is believed to have, in stories of our own."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.text.extraction.english import MAX_FORM, NameStatistics, _merge_forms
from fabula.text.extraction.model import ProposedEntry
from fabula.text.extraction.propose import propose_entries

SEA = (
    "Captain Maddox came down to the quay. “Is she ready?” said Maddox. The mate nodded. "
    "“Ready, Captain Maddox,” said Orrin Vale, and Vale smiled. In Harwick the bells began; all the boats of Harwick "
    "lay still. “God help us,” cried Vale. The English flag hung low on Monday. When the wind rose, Maddox looked up. "
    "Perhaps it would hold. But Maddox knew better, and Orrin Vale felt it too. Perhaps, said Maddox, perhaps. "
    "At Harwick they waited in the rain; in Harwick nobody slept. Maddox’s face was grey, and Vale’s hands shook.\n\n"
)
HOUSE = (
    "“You are late,” said Mr. Fenn. Mrs. Fenn laughed. “He is always late,” said Mrs. Fenn. Mr. Fenn frowned at her. "
    "“Tea,” said Mr. Fenn, and Mrs. Fenn rose. Then Mr. Fenn sat down while Mrs. Fenn looked out.\n\n"
)
RIVER = (
    "且说沈砚，字子墨，乃临江人氏。沈砚大怒曰：“此事谁敢！”子墨笑曰：“我敢。”众人皆惊。\n"
    "霍青道：“沈砚且慢。”沈砚问道：“为何？”霍青笑道：“临江城中有伏兵。”子墨曰：“不怕。”\n"
    "次日，沈砚至临江，霍青亦到临江。霍青听了，点头不语。子墨见霍青如此，大喜。众人道：“好！”\n"
    "在临江城外，沈砚忙道：“霍青何在？”霍青急道：“在此。”子墨叹曰：“天也！”众人道：“走罢。”\n"
)


def names(proposals: list[ProposedEntry], kind: str = "character") -> list[str]:
    return [proposal.name for proposal in proposals if proposal.kind == kind]


def english(text: str, most: int = 200) -> list[ProposedEntry]:
    return propose_entries([("one", text)], language="en", limit=most)


def called(proposals: list[ProposedEntry], name: str) -> ProposedEntry:
    return next(proposal for proposal in proposals if name in proposal.names)


def test_people_are_told_by_what_they_do() -> None:
    assert set(names(english(SEA * 3))) == {"Maddox", "Vale"}


def test_a_place_is_where_somebody_is() -> None:
    assert names(english(SEA * 3), "location") == ["Harwick"]


def test_words_that_begin_sentences_days_peoples_and_gods_are_no_names() -> None:
    every = {name for proposal in english(SEA * 5) for name in proposal.names}
    assert not every & {"Perhaps", "When", "But", "The", "God", "English", "Monday", "Captain", "Ready"}


def test_a_title_and_a_full_name_belong_to_the_same_person() -> None:
    proposals = english(SEA * 3)
    assert called(proposals, "Captain Maddox") is called(proposals, "Maddox")
    assert called(proposals, "Orrin Vale") is called(proposals, "Vale")


def test_husband_and_wife_stay_two() -> None:
    proposals = english(HOUSE * 3)
    assert called(proposals, "Mr. Fenn") is not called(proposals, "Mrs. Fenn")


def test_extract_gives_no_man_his_wife_as_an_alias() -> None:
    text = (
        "“Is it so?” said Villefort. M. de Villefort bowed. “Yes,” said Madame de Villefort, and Madame de Villefort "
        "smiled. Villefort looked up, and he asked Madame de Villefort. “Sir,” said M. de Villefort. Villefort rose. "
        "They saw Mademoiselle de Villefort, and Mademoiselle de Villefort wept.\n\n"
    )
    proposals = english(text * 4)
    assert called(proposals, "Villefort") is called(proposals, "M. de Villefort")
    people = ("Villefort", "Madame de Villefort", "Mademoiselle de Villefort")
    assert len({id(called(proposals, name)) for name in people}) == 3


def test_a_wife_whose_husband_is_called_without_a_title_stays_herself() -> None:
    text = "“Enough,” said Macrae. Lady Macrae smiled. Macrae saw that Lady Macrae slept. “Come,” said Macrae.\n\n"
    proposals = english(text * 4)
    assert called(proposals, "Macrae") is not called(proposals, "Lady Macrae")


def test_the_best_of_each_kind_is_among_the_first_forty() -> None:
    letters = "bcdfghklmnprst"
    people = [f"{first.upper()}a{last}o" for first in letters for last in letters[:4]]
    text = "".join(
        f"“Well,” said {name}. {name} smiled. Then {name} looked at him, and {name} nodded. " for name in people
    )
    text += "They lived in Marlow; in Marlow it rained. Near Marlow they met. "
    text += "They saw the Petrel; on the Petrel they slept. "
    first = english(text * 8)[:40]
    assert len(people) > 40
    assert {"character", "location", "other"} == {proposal.kind for proposal in first}
    assert "Marlow" in names(first, "location")


def test_requests_and_manners_are_no_characters() -> None:
    text = (
        "沈砚道：“万望大人饶恕。”霍青道：“快早说来！”众人道：“万望饶命。”霍青听了，大怒。沈砚见霍青如此，忙道：“且慢。”\n"
        "万望说情的人走了。快早说！快早走！万望见谅。快早问他！万望听我一言。沈砚看着霍青。操怒道：“走！”厉声喝道：“停！”\n"
    )
    every = {name for proposal in propose_entries([("一", text * 8)], language="zh") for name in proposal.names}
    assert {"沈砚", "霍青"} <= every
    assert not every & {"万望", "快早", "操怒", "厉声"}


def test_two_of_one_family_do_not_share_the_family_name() -> None:
    text = "“Come,” said Anna Holt. “No,” said Peter Holt. Anna Holt smiled, and Peter Holt sat. “Well,” said Holt.\n\n"
    proposals = english(text * 4)
    assert len({id(called(proposals, name)) for name in ("Anna Holt", "Peter Holt", "Holt")}) == 3


def test_a_name_that_is_also_a_word_counts_where_it_speaks() -> None:
    text = "He will come, said Will, and hope is left. “I will,” said Will again. They will see. And Will laughed.\n\n"
    assert "Will" in names(english(text * 4))


def test_a_ship_with_its_article_is_no_character() -> None:
    text = (
        "They saw the Petrel. On the Petrel all slept; the Petrel rolled, and the Petrel was late. “Ho,” said Ana.\n\n"
    )
    proposals = english(text * 4)
    assert called(proposals, "Petrel").kind == "other"


def test_headings_count_for_nothing() -> None:
    text = "The Long Road Home\n\nHe walked on the road. It was long, and home was far.\n\n"
    assert english(text * 6) == []


def test_people_of_a_chinese_story_are_told_by_what_they_do() -> None:
    found = propose_entries([("一", RIVER * 3)], language="zh")
    assert {*names(found)} == {called(found, "沈砚").name, "霍青"}


def test_a_courtesy_name_belongs_to_whom_the_book_says_it_does() -> None:
    proposals = propose_entries([("一", RIVER * 3)], language="zh")
    assert called(proposals, "沈砚") is called(proposals, "子墨")
    without = propose_entries([("一", RIVER.replace("，字子墨", "") * 3)], language="zh")
    assert called(without, "沈砚") is not called(without, "子墨")


def test_everyone_and_anyone_is_nobody() -> None:
    every = {name for proposal in propose_entries([("一", RIVER * 4)], language="zh") for name in proposal.names}
    assert not every & {"众人", "大怒", "次日", "伏兵"}


def test_servants_slopes_and_titles_in_general_are_no_names() -> None:
    text = "门吏道：“来了。”门吏笑道：“不来。”霍青至馆驿，门吏听了，忙道：“也罢。”霍青道：“走。”霍青到山坡，笑了。\n"
    assert names(propose_entries([("一", text * 4)], language="zh")) == ["霍青"]
    words = "Dorn saw his Serene Highness. “Who is it?” said Dorn. He told his Serene Highness of two Emperors.\n\n"
    assert names(english(words * 6)) == ["Dorn"]


def test_a_given_name_belongs_to_the_only_one_who_has_it() -> None:
    text = "林黛玉道：“来。”黛玉笑道：“不来。”黛玉听了，忙道：“也罢。”林黛玉叹道：“唉。”黛玉见了，点头。\n"
    proposals = propose_entries([("一", text * 5)], language="zh")
    assert called(proposals, "林黛玉") is called(proposals, "黛玉")
    two = (text + text.replace("林黛玉", "甄黛玉")) * 5
    proposals = propose_entries([("一", two)], language="zh")
    assert called(proposals, "林黛玉") is not called(proposals, "甄黛玉")


def test_a_proposal_says_where_and_how_often_and_shows_it() -> None:
    proposals = propose_entries([("one", "Nothing here.\n"), ("two", SEA * 2)], language="en")
    vale = called(proposals, "Vale")
    assert vale.mentions == 10
    assert (vale.document, SEA[vale.offset :].startswith("Orrin Vale")) == ("two", True)
    assert any("said Orrin Vale" in sentence for sentence in vale.evidence)
    assert all(len(sentence) < 200 for sentence in vale.evidence)


def test_what_is_known_is_not_proposed_again_by_any_of_its_names() -> None:
    left = propose_entries([("one", SEA * 3)], language="en", known=["captain maddox"])
    assert set(names(left)) == {"Vale"}


def test_the_best_come_first_and_no_more_than_asked_for() -> None:
    proposals = english(SEA * 3)
    assert [proposal.kind for proposal in proposals] == ["character", "character", "location"]
    assert len(english(SEA * 3, most=1)) == 1


def test_the_same_text_gives_the_same_proposals() -> None:
    assert english(SEA * 3) == english(SEA * 3)
    assert propose_entries([("一", RIVER * 3)], language="zh") == propose_entries([("一", RIVER * 3)], language="zh")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_progress_is_told_and_ends_where_it_should(language: str) -> None:
    told: list[tuple[int, int]] = []
    propose_entries(
        [("one", SEA), ("two", RIVER)], language=language, progress=lambda done, total: told.append((done, total))
    )
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "text", ["", "\n\n", "A", "人", "\ud800" * 20, "X" * 50_000, "李" * 50_000, "“" * 9_000, "…" * 99]
)
def test_any_text_is_bounded_and_harmless(language: str, text: str) -> None:
    assert len(propose_entries([("one", text)], language=language)) <= 1


PORT = (
    "We came to New Harbourne at dusk. All New Harbourne slept, and in New Harbourne no lamp burned. "
    "They raised a cry of “Tolliver! where is Tolliver?” and ran out. It was the last of Tolliver in that book. "
    "“Tolliver!” called a boy. The name of Tolliver was on the list.\n\n"
)


def test_a_word_that_always_stands_before_a_name_is_part_of_it() -> None:
    """New Bedford was proposed as Bedford."""
    assert names(english(PORT * 2), "location") == ["New Harbourne"]


def test_somebody_who_is_called_by_name_is_a_character() -> None:
    """Bulkington, whom his shipmates call, was proposed as a thing."""
    assert "Tolliver" in names(english(PORT * 2))


def test_a_wife_is_first_mentioned_where_she_is_and_not_where_her_family_name_is() -> None:
    """Mrs. Hussey began in an extract by Lay and Hussey, fifteen chapters before her."""
    early = "The book was by Lay and Fenn, survivors of the wreck.\n\n"
    tea = "“Tea,” said Mrs. Fenn. Then Mrs. Fenn rose. He saw Mrs. Fenn at the door, and Mrs. Fenn smiled.\n\n"
    texts = [("extracts", early), ("one", tea * 3)]
    proposal = called(propose_entries(texts, language="en", limit=50), "Mrs. Fenn")
    assert (proposal.document, proposal.kind) == ("one", "character")


def test_a_long_row_of_capitalised_words_has_no_shorter_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [chr(66 + n // 400) + chr(98 + n // 20 % 20) + chr(98 + n % 20) for n in range(3_000)]
    sliced: list[int] = []

    class Form(tuple[str, ...]):
        def __getitem__(self, key: Any) -> Any:
            sliced.append(1)
            return super().__getitem__(key)

    forms: dict[tuple[str, ...], NameStatistics] = {
        Form(words[:size]): NameStatistics(count=2) for size in (2, 5, MAX_FORM, 13, 3_000)
    }
    assert len(_merge_forms(forms)) >= 2
    assert len(sliced) < 1_000
