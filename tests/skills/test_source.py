"""The context source of skills: role, instruction and input close the prompt."""

from __future__ import annotations

import pytest

from fabula.codex import Entry, Level
from fabula.constraints import Constraint
from fabula.context.engine import Engine
from fabula.conversation.model import Message
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective
from fabula.core.view import View
from fabula.manuscript.model import Direction
from fabula.memory.model import Memory, MemoryNote, Preference
from fabula.skills.files import Skills, load_built_in
from fabula.skills.model import Skill
from fabula.skills.source import SkillSource
from fabula.skills.template import has_placeholders
from tests.manuscript.stories import PROJECT, ask, chapter, everything, filler, story

FULL = story(
    chapter(1, filler(500), synopsis="Long ago."),
    chapter(2, "Mara came.\n\n" + filler(500)),
    entries=[
        Entry(id="mara", type="character", name="Mara", description="All about Mara."),
        Entry(id="zora", type="character", name="Zora", description="All about Zora.", level=Level.ALWAYS),
    ],
    constraints=[Constraint(id="a", text="Be brief.")],
    memory=Memory(
        PROJECT,
        preferences=[Preference("p", "Likes fog.")],
        episodes=[MemoryNote("e", "Once.")],
        working_notes=[MemoryNote("1", "x")],
    ),
    direction=Direction(kind="a sea story", style="Plain."),
    talk=[Message(id="m1", role="user", content="Earlier talk."), Message(id="m2", role="assistant", content="Yes.")],
)
SKILLS = load_built_in().skills
PLAIN_SKILLS = [
    name for name, skill in SKILLS.items() if skill.templates["en"] and not has_placeholders(skill.templates["en"])
]


@pytest.mark.parametrize("recipe", ["novel", "chat", "character-chat"])
@pytest.mark.parametrize("name", PLAIN_SKILLS)
def test_the_instruction_of_a_skill_closes_the_prompt(name: str, recipe: str) -> None:
    result = ask(FULL, skill_id=name, recipe=recipe, conversation_id="desk", cursor=12)
    assert result.prompt.endswith(SKILLS[name].templates["en"])
    assert result.messages[-1].content.endswith(SKILLS[name].templates["en"])
    assert result.prompt.count(SKILLS[name].templates["en"]) == 1


@pytest.mark.parametrize("name", PLAIN_SKILLS)
def test_the_input_follows_the_instruction_once(name: str) -> None:
    result = ask(FULL, skill_id=name, additional_input="In the rain, please.", conversation_id="desk")
    assert result.prompt.endswith(SKILLS[name].templates["en"] + "\n\nIn the rain, please.")
    assert result.prompt.count("In the rain, please.") == 1


def test_plain_chat_adds_no_instruction() -> None:
    result = ask(FULL, skill_id="chat", recipe="chat", additional_input="Hello.", conversation_id="desk")
    assert result.prompt.endswith("Hello.")
    assert "You are the writer." not in everything(result)


def test_every_skill_has_templates_in_both_languages_or_none() -> None:
    for skill in SKILLS.values():
        assert bool(skill.templates["en"]) == bool(skill.templates["zh"])
    chinese = story(chapter(1, "灯灭了。"), language="zh")
    assert ask(chinese).prompt.endswith(SKILLS["continue"].templates["zh"])


def test_all_skills_share_one_stable_prefix_for_the_same_perspective() -> None:
    # A recap or synopsis is told to people who may know less than the reader, so it is written without entries. What a
    # scene needs is asked for without anything of a person.
    names = [name for name, skill in SKILLS.items() if skill.recipe not in ("record", "scene")]
    hashes = {ask(FULL, skill_id=name, perspective=Perspective.READER).stable_prefix_hash for name in names}
    assert len(hashes) == 1
    assert set(SKILLS) - set(names) == {"recap", "digest", "facts", "needs"}


@pytest.mark.parametrize(
    ("name", "eyes"), [("continue", Perspective.READER), ("plan", Perspective.AUTHOR), ("critique", Perspective.AUTHOR)]
)
def test_a_skill_sets_the_perspective_unless_the_request_does(name: str, eyes: Perspective) -> None:
    assert ask(FULL, skill_id=name).vantage.perspective is eyes
    assert ask(FULL, skill_id=name, perspective=Perspective.READER).vantage.perspective is Perspective.READER


def test_an_unknown_skill_is_refused_with_the_known_ones() -> None:
    with pytest.raises(FabulaError, match="continue") as caught:
        FULL.assemble(FULL.request(skill_id="juggle"))
    assert caught.value.code is Code.SKILL_UNKNOWN


def test_session_details_are_optional_and_follow_the_stable_prefix() -> None:
    plain = ask(FULL)
    assert "time zone" not in everything(plain)
    given = ask(FULL, session={"time zone": "Europe/Rome", "device": "desk"})
    assert "device: desk; time zone: Europe/Rome" in given.prompt
    assert given.stable_prefix_hash == plain.stable_prefix_hash
    assert given.prompt.endswith(SKILLS["continue"].templates["en"])


def test_an_application_may_bring_its_own_skills() -> None:
    own = Skills({"sing": Skill(id="sing", templates={"en": "Sing it.", "zh": "唱出来。"})})
    view = View(FULL.view.project, FULL.view.timeline, {**FULL.view.snapshots, Skills: own})
    request = FULL.request(skill_id="sing")
    assert Engine([SkillSource()]).assemble(request, view).prompt.endswith("Sing it.")


def test_a_template_gets_the_next_beat_the_selection_and_the_instruction() -> None:
    beats = story(chapter(1, "The lamp went out.", beats=("She lights it again", "He leaves")), language="en")
    assert "Where it should lead: She lights it again" in ask(beats, skill_id="dialogue").prompt
    assert "Where it should lead" not in ask(FULL, skill_id="dialogue").prompt
    asked = ask(FULL, skill_id="brainstorm", additional_input="a storm at sea")
    assert asked.prompt.count("a storm at sea") == 1
    assert "what the selected words name" in ask(FULL, skill_id="describe", selection=(0, 4)).prompt


@pytest.mark.parametrize("name", [name for name, skill in SKILLS.items() if skill.answer_action.is_prose])
def test_every_writing_skill_gets_the_next_beat(name: str) -> None:
    beats = story(chapter(1, "The lamp went out.", beats=("She lights it again", "He leaves")), language="en")
    assert "She lights it again" in ask(beats, skill_id=name, selection=(0, 8)).prompt


def test_a_template_names_the_character_whose_scene_it_is() -> None:
    own = Skills({"sing": Skill(id="sing", templates={"en": "Sing as {{ pov }}.", "zh": "唱"})})
    mara = Entry(id="m-1", type="character", name="Mara Venn")
    told = story(chapter(1, "The lamp went out.", pov="m-1"), entries=[mara], language="en")
    view = View(told.view.project, told.view.timeline, {**told.view.snapshots, Skills: own})
    prompt = Engine([SkillSource()]).assemble(told.request(skill_id="sing"), view).prompt
    assert prompt.endswith("Sing as Mara Venn.")


def test_a_template_gets_the_selected_text_in_either_direction_and_with_any_line_ends() -> None:
    own = Skills({"sing": Skill(id="sing", templates={"en": "Sing: {{ selection }}.", "zh": "唱"})})
    view = View(FULL.view.project, FULL.view.timeline, {**FULL.view.snapshots, Skills: own})
    request = FULL.request(skill_id="sing", selection=(8, 5), unsaved_text="One\r\n\r\ntwo three")
    assert Engine([SkillSource()]).assemble(request, view).prompt.endswith("Sing: two.")
