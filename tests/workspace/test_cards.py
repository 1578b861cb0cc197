"""Character cards: imported with a participant, told where SillyTavern tells them, known to whom they may be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabula.context.result import Result
from fabula.core.errors import Code, FabulaError
from fabula.formats.lore.cards import parse_card
from fabula.formats.lore.files import read_card, write_card
from fabula.manuscript import projects
from fabula.settings.edits import set_value
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.saves import LoadChoices
from fabula.workspace.workspace import Workspace
from tests.formats.lore.samples import make_png, write_json
from tests.formats.lore.shapes import SHAPES

DATA: dict[str, Any] = {
    "name": "Mara Venn",
    "nickname": "Mara",
    "description": "{{char}} keeps the light.\nShe is tall.",
    "personality": "Quiet towards {{user}}.",
    "scenario": "A pier at night.",
    "first_mes": "{{char}} nods to {{user}}.",
    "mes_example": "<START>\n{{user}}: Hi.\n{{char}}: Aye.\n<START>\n{{user}}: Why?\n{{char}}: Because.",
    "creator_notes": "Made by nobody.",
    "system_prompt": "{{original}} Stay in character.",
    "post_history_instructions": "{{original}}Answer in one line.",
    "alternate_greetings": ["Fog.", "Rain on {{user}}."],
    "tags": ["sea"],
    "creator": "x",
    "character_version": "1",
    "extensions": {"talkativeness": "0.8", "depth_prompt": {"prompt": "Mara limps.", "depth": 2, "role": "system"}},
    "character_book": {
        "entries": [
            {
                "keys": ["lamp"],
                "content": "The lamp is {{user}}'s.",
                "enabled": True,
                "insertion_order": 1,
                "extensions": {},
            }
        ],
        "extensions": {},
    },
    "unknown_field": {"stays": True},
}
CARD: dict[str, Any] = {"spec": "chara_card_v3", "spec_version": "3.0", "data": DATA}
NOW = datetime(2026, 11, 17, 16, 5, tzinfo=UTC)


@pytest.fixture
def pier(store: Store) -> Iterator[ProjectHandle]:
    """A project with a player."""
    projects.create(store, "Pier", project_id="pier", identity="Be kind.")
    with Workspace(store) as workspace:
        project = workspace.project("pier")
        project.participants.ensure_player("Ann")
        yield project


def import_card(project: ProjectHandle, folder: Path, card: dict[str, Any] | None = None, **changes: Any) -> None:
    data = {**DATA, **changes}
    path = folder / f"{data['name']}.json"
    path.write_text(json.dumps(card or {**CARD, "data": data}), "utf-8")
    project.participants.import_card(path)


def ask(project: ProjectHandle, speaker: str, conversation: str = "Talk", **fields: Any) -> Result:
    request = project.request(
        recipe="chat", skill_id="", conversation_id=conversation, speaker_id=speaker, document_id="", now=NOW, **fields
    )
    return project.assemble(request)


def start_group(project: ProjectHandle, folder: Path) -> None:
    import_card(project, folder)
    bo: dict[str, Any] = {"description": "{{char}} is a smith.", "nickname": "", "mes_example": "", "extensions": {}}
    import_card(project, folder, name="Bo", **bo, system_prompt="", post_history_instructions="Bo growls.")
    project.participants.edit("Bo", persona="Bo hides the key.")
    project.conversations.start(("Ann", "Mara", "Bo"), title="Talk")
    for number in range(6):
        project.conversations.record("Talk", f"line {number}", speaker="Ann")


def test_an_imported_card_makes_a_participant_who_can_speak(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    found, card = pier.participants.get("Mara"), pier.participants.read_card("Mara")
    assert (found.id, found.name, found.aliases) == ("persona:Mara Venn", "Mara Venn", ("Mara",))
    assert card is not None
    assert (card.talkativeness, card.depth, card.creator_notes) == (0.8, 2, "Made by nobody.")
    assert len(pier.lorebooks.list_lorebooks()) == 1  # the one home of the card


def test_a_card_in_a_picture_goes_in_and_out(pier: ProjectHandle, tmp_path: Path) -> None:
    picture = tmp_path / "mara.png"
    picture.write_bytes(make_png())
    write_card(replace(parse_card(CARD, "Mara"), image=picture.read_bytes()), tmp_path / "card.png")
    imported = pier.participants.import_card(tmp_path / "card.png")
    assert (imported.participant.name, imported.entry_count) == ("Mara Venn", 1)
    pier.participants.edit_card("Mara", personality="Loud.")
    pier.participants.export_card("Mara", tmp_path / "out.png", into=picture)
    assert read_card(tmp_path / "out.png").raw == {**CARD, "data": {**DATA, "personality": "Loud."}}


def test_how_talkative_an_old_card_is_counts(pier: ProjectHandle, tmp_path: Path) -> None:
    old = {**dict.fromkeys(("description", "personality", "first_mes"), ""), "name": "Aria", "talkativeness": "0.9"}
    import_card(pier, tmp_path, old, name="Aria")
    card = pier.participants.read_card("Aria")
    assert card is not None
    assert card.talkativeness == 0.9


@pytest.mark.parametrize("shape", ["agnai character", "pygmalion", "backyard", "backyard archive"])
def test_a_character_of_another_program_can_speak(pier: ProjectHandle, tmp_path: Path, shape: str) -> None:
    imported = pier.participants.import_card(str(write_json(tmp_path / "m.json", SHAPES[shape])))
    assert (imported.participant.name, imported.card.scenario) == ("Mara", "A storm.")
    pier.conversations.start(("Ann", "Mara"), title="Talk", greeting="Mara")
    pier.conversations.record("Talk", "Tom, and the keeper?", speaker="Ann")
    prompt = ask(pier, "Mara").prompt
    assert "Hello" in prompt
    assert "Mara: Aye." in prompt
    assert ("Tom rows" in prompt) == (shape != "pygmalion")
    assert "{" not in prompt
    pier.participants.export_card("Mara", tmp_path / "out.json")
    assert parse_card(json.loads((tmp_path / "out.json").read_bytes()), "out").version == 2


def test_import_and_edits_of_a_card_can_be_undone(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    changed = pier.participants.edit_card("Mara", scenario="A storm.", depth_prompt="Mara sneezes.", depth=0)
    assert (changed.scenario, changed.depth_prompt, changed.depth) == ("A storm.", "Mara sneezes.", 0)
    assert pier.participants.get("Mara").revision == 2
    pier.changes.undo()
    card = pier.participants.read_card("Mara")
    assert card is not None
    assert card.scenario == "A pier at night."
    pier.changes.undo()
    assert [one.name for one in pier.participants.list_all()] == ["Ann"]
    assert pier.lorebooks.list_lorebooks() == []


def test_a_card_goes_out_with_its_edits_and_nothing_lost(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    pier.participants.export_card("Mara", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text("utf-8")) == CARD
    pier.participants.edit_card("Mara", talkativeness=0.1, alternate_greetings=["Sun."])
    pier.participants.export_card("Mara", tmp_path / "out.json", overwrite=True)
    expected = {**DATA, "alternate_greetings": ["Sun."], "extensions": {**DATA["extensions"], "talkativeness": 0.1}}
    assert read_card(tmp_path / "out.json").raw["data"] == expected


def test_a_card_survives_save_and_load(pier: ProjectHandle, store: Store, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    pier.save(tmp_path / "pier.fabula")
    with Workspace(store) as workspace:
        loaded = workspace.load_save(tmp_path / "pier.fabula", LoadChoices(beside=True))
        project = workspace.project(loaded.project_id)
        assert project.participants.read_card("Mara") == pier.participants.read_card("Mara")


def test_a_card_of_version_1_gets_what_it_has_no_field_for(pier: ProjectHandle, tmp_path: Path) -> None:
    old = {name: DATA[name] for name in ("name", "description", "personality", "scenario", "first_mes", "mes_example")}
    import_card(pier, tmp_path, old)
    card = pier.participants.edit_card("Mara Venn", post_history="Be brief.")
    assert (card.post_history, card.description) == ("Be brief.", DATA["description"])


def test_a_participant_without_a_card_can_be_given_one_by_hand(pier: ProjectHandle, tmp_path: Path) -> None:
    pier.participants.add("Tom")
    assert pier.participants.read_card("Tom") is None
    with pytest.raises(FabulaError) as refused:
        pier.participants.export_card("Tom", tmp_path / "tom.json")
    assert refused.value.code is Code.STORE_NOT_FOUND
    assert pier.participants.edit_card("Tom", description="A sailor.").description == "A sailor."
    pier.participants.export_card("Tom", tmp_path / "tom.json")
    assert read_card(tmp_path / "tom.json").fields.description == "A sailor."


@pytest.mark.parametrize("fields", [{"depth": -1}, {"talkativeness": 2.0}, {"description": ["x", "y"]}])
def test_a_value_that_a_card_cannot_have_changes_nothing(
    pier: ProjectHandle, tmp_path: Path, fields: dict[str, Any]
) -> None:
    import_card(pier, tmp_path)
    before = pier.participants.read_card("Mara")
    with pytest.raises(FabulaError):
        pier.participants.edit_card("Mara", **fields)
    assert pier.participants.read_card("Mara") == before


def test_another_card_of_the_same_name_is_refused_unless_it_replaces(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    with pytest.raises(FabulaError) as refused:
        import_card(pier, tmp_path, description="Another.")
    assert refused.value.code is Code.STORE_DUPLICATE
    assert len(pier.lorebooks.list_lorebooks()) == 1
    pier.participants.import_card(tmp_path / "Mara Venn.json", replace_existing=True)
    card = pier.participants.read_card("Mara")
    assert card is not None
    assert card.description == "Another."
    assert len(pier.participants.list_all()) == 2


def test_a_greeting_and_a_text_that_is_shown_are_not_told_as_earlier_messages(
    pier: ProjectHandle, tmp_path: Path
) -> None:
    import_card(pier, tmp_path, first_mes="The barometer fell again.", alternate_greetings=[])
    for title in ("One", "Talk"):
        pier.conversations.start(("Ann", "Mara"), title=title, greeting="Mara")
    pier.conversations.record("One", "The barometer is on the wall.", speaker="Ann")
    pier.conversations.record("One", "Ask the barometer.", speaker="Mara")
    pier.conversations.record("Talk", "Ask the barometer.", speaker="Ann")
    for mode in ("embedding-first", "classic"):
        assert pier.store is not None
        with pier.store.write(project="pier") as tx:
            set_value(tx, "History.RelevantHistory", mode, scope="project")
        prompt = ask(pier, "Mara", additional_input="What does the barometer say?").prompt
        assert "Ann: The barometer is on the wall.\n" in prompt
        assert prompt.count("The barometer fell again.") == 1
        assert prompt.count("Ask the barometer.") == 1


def test_a_greeting_of_an_older_version_is_recognised_by_its_text(pier: ProjectHandle, tmp_path: Path) -> None:
    greeting = "The barometer fell again, {{user}}. {{char}} shrugs."
    import_card(pier, tmp_path, first_mes=greeting, alternate_greetings=["Rain at the barometer."])
    pier.conversations.start(("Ann", "Mara"), title="One")
    pier.conversations.record("One", "The barometer fell again, Ann. Mara shrugs.", speaker="Mara")
    pier.conversations.record("One", "The barometer is on the wall.", speaker="Ann")
    pier.conversations.record("One", "The barometer fell again, Ann. Mara shrugs.", speaker="Mara")
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    pier.conversations.record("Talk", "Hello.", speaker="Ann")
    for mode in ("embedding-first", "classic"):
        assert pier.store is not None
        with pier.store.write(project="pier") as tx:
            set_value(tx, "History.RelevantHistory", mode, scope="project")
        prompt = ask(pier, "Mara", additional_input="What does the barometer say?").prompt
        assert "Ann: The barometer is on the wall.\n" in prompt
        assert prompt.count("The barometer fell again") == 1, "it is a greeting where it begins a conversation only"


def test_a_conversation_with_nothing_but_a_greeting_is_not_told_in_short(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path, first_mes="The barometer fell again.", alternate_greetings=[])
    pier.conversations.start(("Ann", "Mara"), title="One", greeting="Mara")
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    pier.conversations.record("Talk", "Hello.", speaker="Ann")
    assert "fell again" not in ask(pier, "Mara", additional_input="Well?").prompt


def test_why_names_each_part_of_a_card(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    pier.conversations.record("Talk", "Well?", speaker="Ann")
    result = pier.inspect(
        pier.request(recipe="chat", skill_id="", conversation_id="Talk", speaker_id="Mara", document_id="")
    )
    titles = [one.title for one in pier.explain(result, "mara venn") if one.source.startswith("card:")]
    parts = ("description", "personality", "scenario", "example 1", "example 2", "depth prompt")
    assert sorted(titles) == sorted(f"Mara Venn ({one})" for one in (*parts, "instructions behind the history"))


def test_between_two_each_part_stands_where_sillytavern_puts_it(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    for number in range(4):
        pier.conversations.record("Talk", f"line {number}", speaker=("Ann", "Mara")[number % 2])
    result = ask(pier, "Mara", additional_input="Well?")
    expected = (
        "Be kind. Stay in character.",
        "Mara keeps the light.\nShe is tall.",
        "[Mara Venn's personality: Quiet towards Ann.]",
        "A pier at night.",
        "Ann: Hi.\nMara: Aye.",
        "Ann: Why?\nMara: Because.",
        "line 0",
        "line 2",
        "Mara limps.",
        "line 3",
        "Well?",
        "Answer in one line.",
    )
    assert result.prompt.count("[An example of how Mara Venn speaks]") == 2, "headings have the name before the lines"
    places = [result.prompt.index(text) for text in expected]
    assert places == sorted(places)
    assert "Made by nobody" not in result.prompt
    assert "{{" not in result.prompt
    assert result.messages[0].content.startswith("Be kind. Stay in character.")
    assert result.warnings == ()


def test_without_a_system_prompt_the_description_stands_in_the_identitys_place(
    pier: ProjectHandle, tmp_path: Path
) -> None:
    import_card(pier, tmp_path, system_prompt="")
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    result = ask(pier, "Mara", additional_input="Well?")
    assert result.prompt.startswith("Mara keeps the light.")
    assert "Be kind." not in result.prompt
    pier.participants.edit_card("Mara", description="", personality="", scenario="")
    assert ask(pier, "Mara", additional_input="Well?").prompt.startswith("Be kind.")


def test_in_a_group_the_public_parts_are_one_prefix_and_the_own_part_is_at_the_end(
    pier: ProjectHandle, tmp_path: Path
) -> None:
    start_group(pier, tmp_path)
    mara, bo = (ask(pier, one, additional_input="Well?") for one in ("Mara", "Bo"))
    assert mara.prompt.startswith("Be kind.")
    assert bo.prompt.startswith("Be kind.")
    for public in ("[Bo]\nBo is a smith.", "[Mara Venn]\nMara keeps the light.\nShe is tall."):
        assert public in mara.prompt
        assert public in bo.prompt
    shared = next(at for at, pair in enumerate(zip(mara.prompt, bo.prompt, strict=False)) if len(set(pair)) > 1)
    assert mara.prompt.index("line 5") < shared
    assert mara.stable_prefix_hash == bo.stable_prefix_hash
    for own in ("Stay in character.", "Mara limps.", "Mara: Aye.", "Answer in one line."):
        assert mara.prompt.index(own) > mara.prompt.index("line 5")
        assert own not in bo.prompt
    for own in ("Bo hides the key.", "Bo growls."):
        assert bo.prompt.index(own) > bo.prompt.index("line 5")
        assert own not in mara.prompt


def test_the_card_of_somebody_who_is_not_present_is_not_told(pier: ProjectHandle, tmp_path: Path) -> None:
    start_group(pier, tmp_path)
    pier.conversations.leave("Talk", "Bo")
    assert "Bo is a smith" not in ask(pier, "Mara", additional_input="Well?").prompt


def test_examples_are_given_up_first_in_a_small_window(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path, mes_example=f"<START>\nMara: {'one ' * 250}\n<START>\nMara: {'two ' * 250}")
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    for number in range(8):
        pier.conversations.record("Talk", f"line {number}", speaker=("Ann", "Mara")[number % 2])
    wide, narrow = (ask(pier, "Mara", additional_input="Well?", window=size) for size in (8000, 800))
    assert "one one" in wide.prompt
    assert "two two" in wide.prompt
    assert "two two" not in narrow.prompt
    assert all(text in narrow.prompt for text in ("line 0", "keeps the light", "Mara limps."))


def test_greetings_begin_a_conversation_and_alternates_can_be_chosen(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    started = pier.conversations.start(("Ann",), title="Talk", greeting="Mara")
    page = pier.conversations.read_page("Talk").messages
    assert [(one.content, one.role, one.speaker) for one in page] == [
        ("Mara nods to Ann.", "assistant", "persona:Mara Venn#1")
    ]
    siblings = pier.conversations.list_siblings("Talk", "1")
    assert [one.content for one in siblings] == ["Mara nods to Ann.", "Fog.", "Rain on Ann."]
    pier.conversations.select("Talk", "3")
    assert [one.content for one in pier.conversations.read_page(started.id).messages] == ["Rain on Ann."]
    assert "Rain on Ann." in ask(pier, "Mara", additional_input="Well?").prompt
    with pytest.raises(FabulaError):
        pier.conversations.start(title="Other", greeting="Ann")
    assert len(pier.conversations.list_all()) == 1


def test_a_text_with_the_time_stands_behind_the_stable_prefix(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path, description="It is {{time}} for {{char}}.", system_prompt="{{date}}: speak.")
    pier.participants.edit("Mara", persona="Drew {{roll:d1000}}.")
    preset = {"nodes": [{"content": "Today is {{weekday}}."}, {"content": "{{char}} and {{user}}."}]}
    pier.presets.write("times", json.dumps(preset), active=True)
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    pier.conversations.record("Talk", "line 0", speaker="Ann")
    result = ask(pier, "Mara", additional_input="Well?")
    for text in ("It is 4:05 PM for Mara.", "November 17, 2026: speak.", "Today is Tuesday.", "Drew "):
        assert result.prompt.index(text) > result.prompt.index("line 0")
    assert result.prompt.index("Mara and Ann.") < result.prompt.index("line 0")
    later = pier.assemble(
        pier.request(
            recipe="chat",
            skill_id="",
            conversation_id="Talk",
            speaker_id="Mara",
            document_id="",
            additional_input="Well?",
            now=NOW.replace(hour=3, day=9),
        )
    )
    assert "It is 3:05 AM for Mara." in later.prompt
    assert later.stable_prefix_hash == result.stable_prefix_hash


def test_variables_are_kept_in_the_continuity(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path, post_history_instructions="Turn {{incvar::turn}}.")
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    first = ask(pier, "Mara", additional_input="Well?")
    assert "Turn 1." in first.prompt
    assert "Turn 1." in ask(pier, "Mara", additional_input="Well?").prompt  # nothing was answered yet
    pier.report_answer(first.assembly_id)
    assert "Turn 2." in ask(pier, "Mara", additional_input="Well?").prompt


def test_where_several_cards_tell_circumstances_each_says_whose_card_it_is(pier: ProjectHandle, tmp_path: Path) -> None:
    start_group(pier, tmp_path)
    pier.participants.edit_card("Bo", scenario="A forge at noon.")
    prompt = ask(pier, "Bo", additional_input="Well?").prompt
    assert "[Circumstances of the conversation, by the card of Bo: A forge at noon.]" in prompt
    assert "[Circumstances of the conversation, by the card of Mara Venn: A pier at night.]" in prompt
    pier.conversations.start(("Ann", "Bo"), title="Two")
    two = pier.request(conversation_id="Two", speaker_id="Bo", recipe="chat", skill_id="", document_id="")
    assert "[Circumstances of the conversation: A forge at noon.]" in pier.inspect(two).prompt


def test_a_single_card_among_several_says_whom_it_describes(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path, description="You keep the light.", scenario="A pier at night.")
    pier.participants.add("Cole", persona="Cole is a cook.")
    pier.conversations.start(("Ann", "Mara", "Cole"), title="Talk")
    for speaker in ("Cole", "Mara"):
        prompt = ask(pier, speaker, additional_input="Well?").prompt
        assert "[Mara Venn]\nYou keep the light." in prompt
        assert "[Circumstances of the conversation, by the card of Mara Venn: A pier at night.]" in prompt
    pier.conversations.start(("Ann", "Mara"), title="Two")
    assert "[Mara Venn]\n" not in ask(pier, "Mara", "Two", additional_input="Well?").prompt


def test_the_last_message_is_the_last_one_that_the_speaker_heard(pier: ProjectHandle, tmp_path: Path) -> None:
    start_group(pier, tmp_path)
    pier.participants.edit_card("Bo", post_history="Last: {{lastMessage}}.")
    pier.conversations.record("Talk", "secret", speaker="Ann", audience=("Mara",))
    prompt = ask(pier, "Bo", additional_input="").prompt
    assert "Last: line 5." in prompt
    assert "secret" not in prompt
    assert "Last: Well?." in ask(pier, "Bo", additional_input="Well?").prompt


def test_macros_that_mean_nothing_stay_and_are_named_in_one_warning(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path, description="{{outlet::x}} {{outlet::y}}", scenario="{{banned}}")
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    result = ask(pier, "Mara", additional_input="Well?")
    assert "{{outlet::x}}" in result.prompt
    assert [one.split(":")[0] for one in result.warnings] == [Code.MACRO_UNKNOWN.value]
    assert result.warnings[0].count("outlet") == 1
    assert "banned" in result.warnings[0]


def test_the_lorebook_of_a_card_is_told_where_its_character_takes_part_and_names_it(
    pier: ProjectHandle, tmp_path: Path
) -> None:
    book = {"entries": [{"keys": ["{{char}}", "grave"], "content": "{{char}}'s crypt.", "enabled": True}]}
    import_card(pier, tmp_path)
    import_card(pier, tmp_path, name="Nox", nickname="", character_book=book)
    for title, people in (("Without", ("Ann", "Mara")), ("Group", ("Ann", "Mara", "Nox"))):
        pier.conversations.start(people, title=title)
        pier.conversations.record(title, "Nox lies in a grave, Mara.", speaker="Ann")
    assert "crypt" not in ask(pier, "Mara", "Without").prompt
    result = pier.inspect(pier.request(recipe="chat", skill_id="", conversation_id="Without", speaker_id="Mara"))
    (verdict,) = (one for one in result.trace if one.title == "Nox")
    assert "does not take part" in str(verdict.detail)
    assert "Nox's crypt." in ask(pier, "Mara", "Group").prompt
    assert "Nox's crypt." in ask(pier, "Nox", "Group").prompt


def test_a_lorebook_entry_names_the_player_and_not_an_id(pier: ProjectHandle, tmp_path: Path) -> None:
    import_card(pier, tmp_path)
    pier.conversations.start(("Ann", "Mara"), title="Talk")
    assert "The lamp is Ann's." in ask(pier, "Mara", additional_input="The lamp?").prompt


def test_a_lone_participant_has_a_persona_too(pier: ProjectHandle) -> None:
    pier.participants.add("Tom", persona="Tom is old.")
    pier.conversations.start(("Tom",), title="Talk")
    assert ask(pier, "Tom", additional_input="Well?").prompt.startswith("Tom is old.")


def test_two_cards_of_one_name_are_both_there_once_the_first_has_another_name(
    pier: ProjectHandle, tmp_path: Path
) -> None:
    import_card(pier, tmp_path)
    again = pier.participants.import_card(tmp_path / "Mara Venn.json")
    assert (again.is_new, again.participant.version) == (False, pier.participants.get("Mara").version)
    with pytest.raises(FabulaError) as refused:
        import_card(pier, tmp_path, description="Another one.")
    assert refused.value.code is Code.STORE_DUPLICATE
    assert "There is a participant called Mara Venn already" in str(refused.value)
    assert "To keep both, rename the first one." in str(refused.value)
    pier.participants.edit("Mara Venn", new_name="Old Mara", aliases=())
    import_card(pier, tmp_path, description="Another one.")
    assert sorted(one.name for one in pier.participants.list_all() if one.card) == ["Mara Venn", "Old Mara"]
    cards = [pier.participants.read_card(name) for name in ("Old Mara", "Mara Venn")]
    assert [card.description for card in cards if card is not None] == [DATA["description"], "Another one."]
    imported = pier.participants.import_card(
        write_json(tmp_path / "m.json", {**CARD, "data": DATA | {"tags": ["x"]}}), namespace="pawn"
    )
    assert "Somebody else is called Mara Venn too." in [str(one) for one in imported.warnings][-1]
