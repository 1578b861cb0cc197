"""Facts: the sentences of a book that tell something lasting about an entry."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.codex import Codex, Entry, Progression
from fabula.codex.facts import Fact, Facts, FactText, signs, weigh
from fabula.codex.facts import find as finding
from fabula.codex.facts.weigh import NamedSentence, NamePlace, NameSigns
from fabula.core.story import Position
from fabula.core.view import Language

MARA = Entry(id="mara", type="character", name="Mara", aliases=("Keeper Venn",))
LASTING = "Mara had never learned to swim since the winter in which her brother drowned."


def find_facts(text: str, entries: Sequence[Entry] = (MARA,), language: Language = "en") -> list[Fact]:
    """The facts of a book of one chapter."""
    facts = Facts([FactText("ch-1", text)], Codex("p", language, entries))
    return [fact for each in facts.by_entry().values() for fact in each]


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [
        (LASTING, "en", "Mara"),
        ("Mara was the daughter of a keeper who had drunk himself to death.", "en", "Mara"),
        ("Mara always wore her father's watch, and never wound it.", "en", "Mara"),
        ("Mara's brother had died at sea before she was born.", "en", "Mara"),
        ("沈砚自幼怕水，每逢渡江必闭目默念亡母之名。", "zh", "沈砚"),
        ("沈砚乃渔户之子，左臂有一道旧疤。", "zh", "沈砚"),
    ],
)
def test_what_lasts_is_a_fact(text: str, language: Language, name: str) -> None:
    (fact,) = find_facts(text, [Entry(id="one", type="character", name=name)], language)
    assert (fact.text, fact.is_lasting) == (text, True)
    assert fact.since == Position("ch-1", len(text))


@pytest.mark.parametrize(
    "text",
    [
        "Mara opened the door and looked out at the grey morning.",
        "“Mara had never learned to swim since her brother drowned,” said Will.",
        "Had Mara never learned to swim since her brother drowned?",
        "He said that Mara had never learned to swim since her brother drowned.",
        "“I will tell you. Mara had never learned to swim since her brother drowned. That is all.”",
        "Mara, the lamp, the long winter, the brother who had drowned, and…",
    ],
)
def test_actions_speech_questions_and_what_others_say_are_no_facts(text: str) -> None:
    assert not [fact for fact in find_facts(text) if fact.is_lasting]


WILL = Entry(id="will", type="character", name="Will Tarn")


@pytest.mark.parametrize(
    "text",
    [
        "The boats were met at the gate by Mara, the chief mate of the old Heron.",
        "Nobody answered, but Mara, who had always been afraid of horses, stood by the wall.",
        "Mara, though she was seldom asked, was a keeper of forty years.",
        "Will Tarn stood at the door, and Mara was a girl of twenty then.",
    ],
)
def test_a_name_later_in_the_sentence_is_told_of_where_a_clause_or_an_apposition_tells_it(text: str) -> None:
    assert [fact.text for fact in find_facts(text, [MARA, WILL]) if fact.entry_id == "mara" and fact.is_lasting] == [
        text
    ]


def test_he_and_she_stand_for_the_only_subject_of_the_sentence_before() -> None:
    told = "She was the daughter of a pilot and had never left the coast."
    (fact,) = [fact for fact in find_facts(f"Mara came down the stair. {told}") if fact.is_lasting]
    assert (fact.entry_id, fact.text) == ("mara", told)
    for before in ("Mara and Will Tarn came down.", "Mara laid it in his hand.", "“Mara comes,” said Will Tarn."):
        assert not [fact for fact in find_facts(f"{before} {told}", [MARA, WILL]) if fact.is_lasting]


def test_what_became_of_somebody_is_told_of_both_and_only_while_little_else_is_known() -> None:
    event = "Mara denounced Will Tarn to the Inspector of the coast."
    assert {fact.entry_id for fact in find_facts(event, [MARA, WILL]) if fact.is_lasting} == {"mara", "will"}
    lasting = "\n\n".join(f"Mara was a keeper of {number} lamps, like her mother." for number in "abcdefgh")
    facts = [fact for fact in find_facts(f"{event}\n\n{lasting}", [MARA, WILL]) if fact.entry_id == "mara"]
    assert event not in [fact.text for fact in facts if fact.is_lasting]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (
            "Mara had sold the old boat to the harbour master, and kept the forty crowns in a locket of her mother's.",
            "en",
        ),
        (
            "After her father's death Mara was sent to the island, where she taught the sons of the pilots to swim.",
            "en",
        ),
        ("The council of the coast forgave Mara, who had hidden two deserters in the lamp room all winter.", "en"),
        ("那年冬天沈砚奉命守城，暗中放走了两个逃兵，又把父亲留下的剑当了三十两银子。", "zh"),
        ("县令大怒，命人把沈砚打了四十大板，逐出城外，永不许再入。", "zh"),
    ],
)
def test_what_somebody_does_or_suffers_is_a_fact(text: str, language: Language) -> None:
    (fact,) = find_facts(text, [MARA, Entry(id="shen", type="character", name="沈砚")], language)
    assert (fact.text, fact.is_lasting) == (text, True)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Mara turned, looked at the door again for a moment and smiled.", "en"),
        ("The morning after Mara had left, the harbour master put on his best coat and went to church.", "en"),
        ("They talked of the weather, of the price of oil and of Mara.", "en"),
        ("沈砚听了，忙站起身来笑着看他。", "zh"),
        ("正说着，只见沈砚进来，坐下吃茶。", "zh"),
    ],
)
def test_looks_steps_and_names_by_the_way_are_no_facts(text: str, language: Language) -> None:
    entries = [MARA, Entry(id="shen", type="character", name="沈砚")]
    assert not [fact for fact in find_facts(text, entries, language) if fact.is_lasting]


@pytest.mark.parametrize("beginning", ["{}", "Within four years {}", "In the end {}", "Having lost his ship, {}"])
def test_what_somebody_does_whom_only_earlier_sentences_name_weighs_less(beginning: str) -> None:
    def measure(who: str) -> float:
        subject = beginning.format(who)
        text = f"{subject[0].upper()}{subject[1:]} had grown used to the house and to the long silence of poor Mara."
        return max((fact.score for fact in find_facts(text, [MARA, WILL]) if fact.entry_id == "mara"), default=0.0)

    assert measure("he") < measure("the pilot") - 0.1
    assert measure("Will Tarn, whom he loved,") > measure("he") + 0.1


def test_who_is_told_of_often_has_five_facts_though_none_is_very_likely() -> None:
    told = [
        f"Mara carried the letters of the {number} to the island in winter, for the pilots on the quay had no boat."
        for number in ("cook", "priest", "doctor", "smith", "baker", "miller", "weaver", "cooper", "joiner", "tailor")
    ]
    assert not [fact for fact in find_facts("\n\n".join(told)) if fact.is_lasting]
    named = ["“Mara!” cried Will Tarn."] * 20
    assert len([fact for fact in find_facts("\n\n".join([*told, *named])) if fact.is_lasting]) == 5


def test_the_beginning_of_the_name_of_somebody_else_tells_nothing() -> None:
    mara = Entry(id="mara", type="character", name="Mara Venn", aliases=("Mara",))
    told = "was the daughter of a keeper who had drunk himself to death."
    assert len(find_facts(f"Mara {told}", [mara])) == 1
    assert not find_facts(f"Mara Tolland {told}", [mara])
    venn = Entry(id="venn", type="character", name="Old Venn", aliases=("Venn",))
    nora = Entry(id="nora", type="character", name="Lady Nora")
    assert {fact.entry_id for fact in find_facts(f"Lady Nora Venn {told}", [venn, nora])} == {"nora"}
    bao = Entry(id="bao", type="character", name="包五")
    wife = "包五家的自幼怕水，每逢渡江必闭目默念亡母之名。"
    assert not find_facts(wife, [bao], "zh")
    assert len(find_facts(wife.replace("家的", ""), [bao], "zh")) == 1


def test_a_place_in_the_title_of_an_officer_tells_nothing_of_the_place() -> None:
    place = Entry(id="qing", type="location", name="青川")
    office = "城破之后，青川太守带领残兵逃出，杀了来使，烧了粮草，投降了敌军。"
    for text in (office, office.replace("太守", "兵"), "朝廷封霍青为青川侯，又赐银三千两、名马十匹，命守关口。"):
        assert not [fact for fact in find_facts(text, [place], "zh") if fact.is_lasting]
    (fact,) = find_facts("城破之后，敌军夺了青川，杀了太守，烧了粮草，立碑为界，屯兵三万守住。", [place], "zh")
    assert fact.is_lasting


def test_a_relative_behind_a_list_of_names_belongs_to_nobody_of_it() -> None:
    nora = Entry(id="nora", type="character", name="Nora")
    guests = "At the table sat the pilot, Will Tarn, Mara, Nora, her brother and the cook."
    assert not [fact for fact in find_facts(guests, [MARA, WILL, nora]) if fact.is_lasting]


@given(st.text(alphabet="Mara had killed, was a son of the—.;()“” \n沈砚杀了他，封为太守。、", max_size=200))
def test_every_feature_of_a_sentence_has_a_weight(text: str) -> None:
    start = text.find("Mara")
    for kind in ("person", "place", "thing"):
        name = NamePlace("mara", max(start, 0), max(start, 0) + 4, kind)
        other = NamePlace("will", len(text) // 2, len(text) // 2 + 2, "person")
        for shown in (NameSigns(), NameSigns(True, True, True, True, True)):
            for is_unspaced in (False, True):
                chance = NamedSentence(text, (name, other), is_unspaced=is_unspaced).measure_chance(name, shown)
                assert 0 <= chance <= 1


def test_a_tale_that_somebody_tells_over_several_paragraphs_tells_facts() -> None:
    told = "Mara was the daughter of a keeper who had drunk himself to death."
    tale = f"“It happened in the old days. {told} I knew her, and Mara always wore my watch."
    assert [fact.text for fact in find_facts(f"{tale}\n\n“She died young.”")] == [told]
    assert not find_facts(f"{tale}”")


def test_a_part_of_a_sentence_in_broken_lines_is_no_fact() -> None:
    assert not find_facts(
        "Mara had never learned to swim since the winter in which\nher brother Mara drowned, as he had said."
    )
    assert not find_facts(
        "沈砚自幼怕水，每逢渡江必闭目默念亡母", [Entry(id="shen", type="character", name="沈砚")], "zh"
    )


@pytest.mark.parametrize(
    ("name", "language", "text", "is_told"),
    [
        ("Hope", "en", "The sailors had lost all hope, and hope had never deserted them before that winter.", False),
        ("Hope", "en", "Hope is a thing with feathers, and the keepers had always loved it.", False),
        ("Hope", "en", "Hope had never learned to swim since the winter in which her brother drowned.", True),
        ("Grey", "en", "Grey clouds had always been a sign of rain for the keepers of the coast.", False),
        ("Grey", "en", "Grey had married the daughter of the pilot and sold the mill.", True),
        ("Will", "en", "Her will was always stronger than the will of her father, who had died at sea.", False),
        ("白", "zh", "屋顶上的白雪自幼是他最爱看的，每年冬天都要看一回。", False),
        ("白", "zh", "白发是他父亲留下的，自幼便有，人称老翁。", False),
        ("安静", "zh", "夜里很安静，自从父亲去世以后，家里常常如此。", False),
        ("安静", "zh", "安静自幼怕水，每逢渡江必闭目默念亡母之名。", True),
    ],
)
def test_an_entry_that_is_named_by_a_common_word_gets_only_sentences_that_name_it(
    name: str, language: Language, text: str, is_told: bool
) -> None:
    facts = find_facts(text, [Entry(id="one", type="character", name=name)], language)
    assert [fact.text for fact in facts] == [text] * is_told


def test_a_role_beside_a_name_counts_once() -> None:
    texts = [
        "The captain sent for Mara, the chief mate of the Heron.",
        "At the wheel stood Mara, the chief mate of the Heron.",
    ]
    assert [fact.text for fact in find_facts("\n\n".join(texts)) if fact.is_lasting] == texts[:1]


def test_a_short_name_stands_for_the_name_in_full_before_it_in_the_paragraph() -> None:
    shen = Entry(id="shen", type="character", name="沈砚")
    told = "砚自幼怕水，每逢渡江必闭目默念亡母之名。"
    assert [fact.text for fact in find_facts(f"沈砚走进门来。{told}", [shen], "zh") if fact.is_lasting] == [told]
    assert not find_facts(f"石砚摆在案上。{told}", [shen], "zh")
    lady = Entry(id="lady", type="character", name="沈夫人")
    assert not find_facts("沈夫人走进门来。人人自幼怕水，每逢渡江必闭目默念亡母之名。", [lady], "zh")


def test_a_sentence_that_names_a_crowd_falls_into_the_clauses_that_begin_with_a_name() -> None:
    entries = [
        Entry(id=f"e{n}", type="character", name=name)
        for n, name in enumerate(["沈砚", "霍青", "程渡", "石安", "林晚", "顾清", "陶远"])
    ]
    homes = ["东院", "西院", "南楼", "北楼", "水阁", "竹轩", "药圃"]
    crowd = "，".join(f"{entry.name}自幼住了{home}" for entry, home in zip(entries, homes, strict=True))
    facts = find_facts(f"{crowd}。", entries, "zh")
    assert {fact.entry_id: fact.text.rstrip("。") for fact in facts} == {
        entry.id: f"{entry.name}自幼住了{home}" for entry, home in zip(entries, homes, strict=True)
    }


def test_a_speech_whose_end_was_left_out_ends_before_a_sentence_that_begins_as_narration_does() -> None:
    shen = Entry(id="shen", type="character", name="沈砚")
    told = "沈砚自幼怕水，每逢渡江必闭目默念亡母之名。"
    assert [fact.text for fact in find_facts(f"阿渡道：“来了。{told}石安道：“快走！”", [shen], "zh")] == [told]
    assert not find_facts(f"阿渡道：“来了。{told}快走！”", [shen], "zh")
    assert not find_facts(f"阿渡道：“来了。只有{told}石安道：“快走！”", [shen], "zh")


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("After the war the old prince made over to him a large estate, Greywater, twenty miles from the coast.", True),
        ("The owner of Greywater had been ruined by the war and had sold the mill and the forest.", True),
        ("In the morning the two officers took the last horses and drove to Greywater through the snow.", False),
    ],
)
def test_what_a_place_is_and_whose_is_a_fact_and_the_way_to_it_is_none(text: str, is_told: bool) -> None:
    facts = find_facts(text, [Entry(id="grey", type="location", name="Greywater")])
    assert [fact.is_lasting for fact in facts] == [True] * is_told


def test_whose_kin_somebody_is_is_a_fact_of_both() -> None:
    entries = [Entry(id="shen", type="character", name="沈砚"), Entry(id="huo", type="character", name="霍青")]
    facts = find_facts("原来霍青乃沈砚之弟，年方十六岁。", entries, "zh")
    assert {fact.entry_id for fact in facts if fact.is_lasting} == {"shen", "huo"}


def test_every_sign_has_a_weight() -> None:
    for weights, language in ((weigh.ENGLISH_WEIGHTS, "ENGLISH_"), (weigh.CHINESE_WEIGHTS, "CHINESE_")):
        tables = [table for name, table in vars(signs).items() if name.startswith(language)]
        assert tables
        assert {sign for table in tables for sign in table} <= weights.keys()


def test_a_straight_quotation_mark_closes_a_speech_that_a_curly_one_opened() -> None:
    shen = Entry(id="shen", type="character", name="沈砚")
    told = "沈砚自幼怕水，每逢渡江必闭目默念亡母之名。"
    assert [fact.text for fact in find_facts(f'阿渡道：“来了！"{told}', [shen], "zh")] == [told]


def test_a_fact_under_a_name_that_is_revealed_later_is_not_listed() -> None:
    stranger = Progression("She is the stranger.", Position("ch-9"), aliases=("The Stranger",))
    entry = Entry(id="mara", type="character", name="Mara", progressions=(stranger,))
    assert not find_facts("The Stranger had never learned to swim since her brother drowned.", [entry])


def test_a_sentence_that_stands_twice_is_one_fact() -> None:
    assert len(find_facts(f"{LASTING}\n\nThe tide came in.\n\n{LASTING}")) == 1


def test_a_later_sentence_about_the_same_thing_ends_the_earlier_one() -> None:
    earlier = "Mara always wore her father's silver watch on a blue ribbon."
    later = "Mara always wore her father's silver watch on a black ribbon."
    facts = {fact.text: fact for fact in find_facts(f"{earlier}\n\nA year went by.\n\n{later}")}
    assert facts[earlier].until == facts[later].since
    assert facts[later].until is None


def test_a_dismissed_fact_stays_away() -> None:
    (fact,) = find_facts(LASTING)
    facts = Facts([FactText("ch-1", LASTING)], Codex("p", "en", [MARA]), dismissed=[fact.id])
    assert not facts.by_entry().get("mara")


def test_after_an_edit_only_the_changed_paragraph_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    codex = Codex("p", "en", [MARA])
    before = "\n\n".join([LASTING, *(f"Day {number} was grey and long." for number in range(50))])
    facts = Facts([FactText("ch-1", before)], codex)
    facts.by_entry()
    read: list[str] = []

    def note(paragraph: str, *others: object) -> list[finding.FactSentence]:
        read.append(paragraph)
        return []

    monkeypatch.setattr("fabula.codex.facts.paragraphs.find_fact_sentences", note)
    after = Facts([FactText("ch-1", before + "\n\nA line that names Mara.")], codex, facts)
    assert [fact.text for fact in after.by_entry()["mara"]] == [LASTING]
    assert read == ["A line that names Mara."]


@pytest.mark.parametrize("text", ["Mara had never swum since " + "x" * 200_000 + ".", "Mara " * 50_000, "马" * 100_000])
def test_a_chapter_that_is_one_sentence_has_no_facts(text: str) -> None:
    assert not find_facts(text)


def test_a_book_in_one_line_has_its_facts_at_their_places() -> None:
    tide = "The tide came in over the stones, and the lamp burned low. “It will rain. It will not,” they said. "
    text = (
        f"{LASTING} {tide * 300}{LASTING.replace('swim', 'row')} {tide * 300}“Go! {'It is late. ' * 2000}” So it was."
    )
    assert text.count("\n") == 0
    facts = find_facts(text)
    assert [text[fact.start : fact.end].strip() for fact in facts] == [fact.text for fact in facts]
    assert {fact.text for fact in facts if fact.is_lasting} == {LASTING, LASTING.replace("swim", "row")}
    chinese = f"{'潮水漫过石头，灯光渐暗。' * 3000}沈砚自幼怕水，每逢渡江必闭目默念亡母之名。{'灯光渐暗。' * 3000}"
    (fact,) = find_facts(chinese, [Entry(id="shen", type="character", name="沈砚")], "zh")
    assert fact.text == "沈砚自幼怕水，每逢渡江必闭目默念亡母之名。"


@given(st.text(alphabet="Mara had never, was a son.!?“”\n马拉自幼怕", max_size=300))
def test_facts_are_whole_sentences_of_the_text(text: str) -> None:
    for fact in find_facts(text):
        assert fact.text in " ".join(text.split()) or fact.text in text
