"""Entries enter a prompt by their level and their mentions (cdx-2, cdx-3)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fabula.codex import Entry, Level, Relation
from fabula.context.request import Grants, Principal
from fabula.context.trace import Reason
from fabula.conversation.model import Message
from fabula.core.fragment import Layer
from fabula.core.relevance import DETECTED, REQUESTED
from fabula.core.story import Perspective, Position
from tests.manuscript.stories import ask, chapter, everything, filler, reason, sources, story


def entry(name: str, level: Level = Level.WHEN_DETECTED, kind: str = "character", **fields: Any) -> Entry:
    return Entry(id=name.lower(), type=kind, name=name, level=level, description=f"All about {name}.", **fields)


ENTRIES = (
    entry("Zora", Level.ALWAYS),
    entry("Abel", Level.ALWAYS),
    entry("Anchor", Level.ALWAYS, "item"),
    entry("Mara"),
    entry("Bram"),
    entry("Cove", kind="location"),
    entry("Ghost", Level.MANUAL),
    entry("Secret", Level.NEVER),
)
EVERYONE = "Zora, Abel, Anchor, Mara, Bram, Cove, Ghost and Secret were there."


def test_always_entries_are_rules_by_type_and_then_by_name() -> None:
    result = ask(story(chapter(1, "Nobody was there."), entries=ENTRIES))
    assert sources(result, "codex:") == ["codex:entity:abel", "codex:entity:zora", "codex:entity:anchor"]
    places = [result.prompt.index(f"All about {name}.") for name in ("Abel", "Zora", "Anchor")]
    assert places == sorted(places)
    assert result.layers[Layer.RULES].tokens > 0
    assert result.layers[Layer.RETRIEVED].tokens == 0


def test_detected_entries_are_retrieved_by_type_and_then_by_name() -> None:
    result = ask(story(chapter(1, EVERYONE), entries=ENTRIES))
    found = [v.source for v in result.trace if v.included and v.layer is Layer.RETRIEVED]
    assert found == ["codex:entity:bram", "codex:entity:mara", "codex:entity:cove"]
    places = [result.prompt.index(f"All about {name}.") for name in ("Bram", "Mara", "Cove")]
    assert places == sorted(places)


def test_the_order_does_not_depend_on_that_of_the_file() -> None:
    forwards = ask(story(chapter(1, EVERYONE), entries=ENTRIES))
    backwards = ask(story(chapter(1, EVERYONE), entries=ENTRIES[::-1]))
    assert forwards.prompt == backwards.prompt


def test_an_entry_that_is_not_mentioned_stays_out_with_its_reason() -> None:
    result = ask(story(chapter(1, "Mara was there."), entries=ENTRIES))
    assert reason(result, "codex:entity:mara") is Reason.KEPT
    assert reason(result, "codex:entity:bram") is Reason.NOT_DETECTED
    assert reason(result, "codex:entity:ghost") is Reason.LEVEL_MANUAL
    assert reason(result, "codex:entity:secret") is Reason.LEVEL_NEVER
    assert "All about Bram." not in everything(result)


def test_an_alias_is_as_good_as_a_name() -> None:
    entries = [entry("Mara", aliases=("the keeper", "Mrs. Venn"))]
    assert "All about Mara." in ask(story(chapter(1, "Then the keeper came."), entries=entries)).prompt
    assert "All about Mara." in ask(story(chapter(1, "Mrs. Venn's lamp."), entries=entries)).prompt


@pytest.mark.parametrize(
    "options",
    [
        {"additional_input": "Let Mara speak."},
        {"conversation_id": "desk"},
        {"selection": (0, 4)},
        {"cursor": 0},
    ],
    ids=["instruction", "conversation", "selection", "after the cursor"],
)
def test_names_are_detected_in_instruction_conversation_selection_and_after_the_cursor(
    options: dict[str, object],
) -> None:
    near = "cursor" in options
    text = "Mara " + filler(40 if near else 600)
    messages = [Message(id="m1", role="user", content="What would Mara do?")]
    project = story(chapter(1, text), entries=ENTRIES, talk=messages)
    if not near:
        assert "codex:entity:mara" not in sources(ask(project))
    assert "codex:entity:mara" in sources(ask(project, **options))


def test_names_are_detected_five_hundred_characters_each_side_of_the_cursor() -> None:
    def noticed(text: str, cursor: int) -> bool:
        return "codex:entity:mara" in sources(ask(story(chapter(1, text), entries=ENTRIES), cursor=cursor))

    gap = "x\n" * 245
    assert noticed("Mara " + gap, 495)
    assert noticed(gap + " Mara", 0)
    far = "x\n" * 400
    assert not noticed("Mara " + far, 805)
    assert not noticed(far + " Mara", 0)


def test_a_name_is_detected_in_the_whole_paragraph_of_the_cursor() -> None:
    text = "Mara " + "x " * 600
    assert "codex:entity:mara" in sources(ask(story(chapter(1, text), entries=ENTRIES)))


def test_the_edge_of_what_is_near_does_not_cut_a_word_into_a_name() -> None:
    english, chinese = entry("Ann"), entry("林远")
    text = "树林远处" + "水\n" * 248 + "水"
    assert text[-500:].startswith("林远")
    assert "codex:entity:林远" not in sources(ask(story(chapter(1, text), entries=[chinese])))
    text = "x\n" * 247 + "xx Annabel came."
    assert text[:500].endswith(" Ann")
    assert "codex:entity:ann" not in sources(ask(story(chapter(1, text), entries=[english]), cursor=0))


def test_nearer_mentions_rank_higher_within_their_range() -> None:
    text = "Bram was there. " + "x " * 200 + "Mara was there."
    result = ask(story(chapter(1, text), entries=ENTRIES))
    scores = {v.source: v.score for v in result.trace}
    assert DETECTED[0] <= scores["codex:entity:bram"] < scores["codex:entity:mara"] <= DETECTED[1] + 1e-9


@pytest.mark.parametrize("name", ["ghost", "codex:entity:ghost"])
def test_a_manual_entry_enters_by_hand_and_by_nothing_else(name: str) -> None:
    entries = [*ENTRIES, entry("Friend", relations=(Relation("ghost", "knows"),))]
    text = "Ghost spoke to Friend. " + EVERYONE
    project = story(chapter(1, text), entries=entries, talk=[Message(id="m", role="user", content="Ghost?")])
    result = ask(project, additional_input="Let Ghost speak.", selection=(0, 5), conversation_id="desk")
    assert "All about Ghost." not in everything(result)
    request = project.request(include=(name,))
    result = ask(project, include=(name,))
    assert "All about Ghost." in result.prompt
    assert next(v.score for v in result.trace if v.source == "codex:entity:ghost") == REQUESTED
    project.report_answer(project.assemble(request).assembly_id)
    assert "All about Ghost." not in everything(ask(project))


@pytest.mark.parametrize("recipe", ["novel", "chat", "character-chat"])
@pytest.mark.parametrize("skill", ["continue", "rewrite", "critique", "plan", "chat"])
def test_a_never_entry_enters_by_no_path_of_any_kind(skill: str, recipe: str) -> None:
    secret = entry(
        "Secret", Level.NEVER, aliases=("Hush",), details={"age": "very"}, relations=(Relation("mara", "mother"),)
    )
    entries = [
        *ENTRIES[:-1],
        secret,
        entry("Friend", relations=(Relation("secret", "child"),)),
        entry("Chief", Level.ALWAYS, relations=(Relation("secret", "child"),)),
    ]
    text = "Secret, that is Hush, met Friend. " + EVERYONE
    messages = [Message(id="m", role="user", content="Who is Secret?")]
    project = story(chapter(1, text), chapter(2, text), entries=entries, talk=messages)
    for options in (
        {},
        {"include": ("secret",)},
        {"include": ("codex:entity:secret", "Secret", "Hush")},
        {"include": ("friend", "secret", "mara")},
        {"additional_input": "Tell me about Secret.", "conversation_id": "desk", "selection": (0, 6)},
        {"cursor": 0},
    ):
        result = ask(project, skill_id=skill, recipe=recipe, **options)
        assert "All about Secret" not in everything(result)
        assert "very" not in everything(result)
        assert "codex:entity:secret" not in sources(result)
        request = project.request(skill_id=skill, recipe=recipe, **options)
        project.report_answer(project.assemble(request).assembly_id)


def test_private_notes_are_never_sent() -> None:
    entries = [
        entry("Zora", Level.ALWAYS, notes="NOTE-ZORA"),
        entry("Mara", notes="NOTE-MARA", relations=(Relation("bram", "brother"),)),
        entry("Bram", notes="NOTE-BRAM"),
        entry("Ghost", Level.MANUAL, notes="NOTE-GHOST"),
    ]
    project = story(chapter(1, EVERYONE), entries=entries)
    for skill in ("continue", "plan"):
        result = ask(project, include=("ghost",), additional_input="Zora, Mara, Bram.", skill_id=skill)
        assert len(sources(result, "codex:")) == 4
        assert "NOTE-" not in everything(result)
        assert all("NOTE-" not in verdict.text for verdict in result.trace)


def test_an_excluded_entry_stays_out_and_says_so() -> None:
    for name in ("codex:entity:mara", "Mara"):
        result = ask(story(chapter(1, EVERYONE), entries=ENTRIES), exclude=(name,))
        assert reason(result, "codex:entity:mara") is Reason.EXCLUDED
        assert "All about Mara." not in everything(result)
    result = ask(story(chapter(1, EVERYONE), entries=ENTRIES), exclude=("codex:entity:abel",))
    assert "All about Abel." not in everything(result)


def test_description_details_and_aliases_are_sent_and_tags_are_not() -> None:
    entries = [entry("Mara", aliases=("Keeper",), details={"trade": "lamps", "age": "40"}, tags=("heroine",))]
    result = ask(story(chapter(1, "Mara came."), entries=entries))
    assert "Mara (character; also Keeper): All about Mara. Trade: lamps. Age: 40." in result.prompt
    assert "heroine" not in everything(result)


def test_a_chinese_entry_is_rendered_in_chinese() -> None:
    lin = Entry(
        id="lin",
        type="character",
        name="林远",
        aliases=("阿远",),
        description="浮标维修员。",
        details={"年龄": "三十四"},
    )
    result = ask(story(chapter(1, "林远走了过来。"), entries=[lin], language="zh"))
    assert "林远（人物，又名阿远）：浮标维修员。年龄：三十四。" in result.prompt


def test_an_entry_of_the_previous_prompt_keeps_its_position_while_the_budget_allows() -> None:
    text = "Mara came. Bram came.\n\n" + filler(300)
    project = story(chapter(1, text), entries=ENTRIES)
    first = project.request(cursor=20)
    project.report_answer(project.assemble(first).assembly_id)
    assert {"codex:entity:bram", "codex:entity:mara"} <= set(sources(ask(project)))
    assert "codex:entity:mara" not in sources(ask(story(chapter(1, text), entries=ENTRIES)))


def test_an_unknown_name_in_include_is_a_warning() -> None:
    project = story(chapter(1, "One."), entries=ENTRIES)
    assert ask(project, include=("mara",)).warnings == ()
    warned = ask(project, include=("nobody-at-all",)).warnings
    assert [warning.partition(":")[0] for warning in warned] == ["CONTEXT_NAME_UNKNOWN"]
    assert "nobody-at-all" in warned[0]


def test_what_is_included_by_hand_and_may_not_be_known_here_is_a_warning_with_the_reason() -> None:
    entries = [entry("Heir", known_to=frozenset()), entry("Wreck", since=Position("ch-2")), *ENTRIES]
    project = story(chapter(1, "One."), chapter(2, "Two."), entries=entries)
    warned = ask(project, document_id="ch-1", include=("heir", "wreck", "mara")).warnings
    assert [warning.partition(":")[0] for warning in warned] == ["CONTEXT_INCLUDE_HIDDEN"] * 2
    assert "heir was to be included and is not in the prompt: nobody in the story has been told this." in warned[0]
    assert "wreck was to be included and is not in the prompt: it is revealed in chapter 2." in warned[1]
    both = ask(project, document_id="ch-1", include=("mara",), exclude=("mara",)).warnings
    assert [warning.partition(":")[0] for warning in both] == ["CONTEXT_INCLUDE_HIDDEN"]
    assert "it was excluded by hand" in both[0]


def test_who_has_limits_is_warned_of_hidden_and_of_missing_things_in_the_same_words() -> None:
    limits = Principal(grants=Grants(perspectives=frozenset({Perspective.READER})))
    project = story(chapter(1, "One."), entries=[entry("Heir", known_to=frozenset()), *ENTRIES])
    hidden, unknown = (
        project.with_principal(limits).assemble(replace(project.request(), include=(name,))).warnings
        for name in ("heir", "none")
    )
    assert [one.partition(":")[0] for one in hidden] == ["CONTEXT_NAME_UNKNOWN"]
    assert [one.replace("heir", "none") for one in hidden] == list(unknown)
