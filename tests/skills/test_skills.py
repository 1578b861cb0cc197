"""Skills: the role and the instruction close the prompt."""

from __future__ import annotations

import pytest

from fabula.codex.model import Entry, Level
from fabula.constraints.model import Constraint
from fabula.context.engine import Engine
from fabula.conversation.model import Message
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Eyes
from fabula.core.view import View
from fabula.manuscript.model import Direction
from fabula.memory.model import Memory, Note, Preference
from fabula.skills.files import Skills, built_in
from fabula.skills.model import Skill
from fabula.skills.source import SkillSource
from fabula.skills.template import fills_in
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
        PROJECT, preferences=[Preference("p", "Likes fog.")], episodes=[Note("e", "Once.")], recent=[Note("1", "x")]
    ),
    direction=Direction(kind="a sea story", style="Plain."),
    talk=[Message(id="m1", role="user", content="Earlier talk."), Message(id="m2", role="assistant", content="Yes.")],
)
SKILLS = built_in().skills
SPEAKING = [name for name, skill in SKILLS.items() if skill.says["en"] and not fills_in(skill.says["en"])]


@pytest.mark.parametrize("recipe", ["novel", "chat", "character-chat"])
@pytest.mark.parametrize("name", SPEAKING)
def test_the_instruction_of_a_skill_closes_the_prompt(name: str, recipe: str) -> None:
    result = ask(FULL, skill_id=name, recipe=recipe, conversation_id="desk", cursor=12)
    assert result.prompt.endswith(SKILLS[name].says["en"])
    assert result.messages[-1].content.endswith(SKILLS[name].says["en"])
    assert result.prompt.count(SKILLS[name].says["en"]) == 1


@pytest.mark.parametrize("name", SPEAKING)
def test_the_input_stands_behind_the_instruction_once(name: str) -> None:
    result = ask(FULL, skill_id=name, additional_input="In the rain, please.", conversation_id="desk")
    assert result.prompt.endswith(SKILLS[name].says["en"] + "\n\nIn the rain, please.")
    assert result.prompt.count("In the rain, please.") == 1


def test_plain_chat_says_nothing_of_its_own() -> None:
    result = ask(FULL, skill_id="chat", recipe="chat", additional_input="Hello.", conversation_id="desk")
    assert result.prompt.endswith("Hello.")
    assert "You are the writer." not in everything(result)


def test_every_skill_speaks_both_languages_or_neither() -> None:
    for skill in SKILLS.values():
        assert bool(skill.says["en"]) == bool(skill.says["zh"])
    chinese = story(chapter(1, "灯灭了。"), language="zh")
    assert ask(chinese).prompt.endswith(SKILLS["continue"].says["zh"])


def test_all_skills_share_one_stable_prefix_as_seen_through_the_same_eyes() -> None:
    hashes = {ask(FULL, skill_id=name, eyes=Eyes.READER).stable_prefix_hash for name in SKILLS}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("name", "eyes"), [("continue", Eyes.READER), ("plan", Eyes.AUTHOR), ("critique", Eyes.AUTHOR)]
)
def test_a_skill_decides_whose_knowledge_it_uses_unless_the_request_does(name: str, eyes: Eyes) -> None:
    assert ask(FULL, skill_id=name).vantage.eyes is eyes
    assert ask(FULL, skill_id=name, eyes=Eyes.READER).vantage.eyes is Eyes.READER


def test_an_unknown_skill_is_refused_with_the_known_ones() -> None:
    with pytest.raises(FabulaError, match="continue") as caught:
        FULL.assemble(FULL.request(skill_id="juggle"))
    assert caught.value.code is Code.SKILL_UNKNOWN


def test_session_details_are_off_unless_given_and_stand_behind_the_stable_prefix() -> None:
    plain = ask(FULL)
    assert "time zone" not in everything(plain)
    given = ask(FULL, session={"time zone": "Europe/Rome", "device": "desk"})
    assert "device: desk; time zone: Europe/Rome" in given.prompt
    assert given.stable_prefix_hash == plain.stable_prefix_hash
    assert given.prompt.endswith(SKILLS["continue"].says["en"])


def test_an_application_may_bring_its_own_skills() -> None:
    own = Skills({"sing": Skill(id="sing", says={"en": "Sing it.", "zh": "唱出来。"})})
    view = View(FULL.view.project, FULL.view.timeline, {**FULL.view.rooms, Skills: own})
    request = FULL.request(skill_id="sing")
    assert Engine([SkillSource()]).assemble(request, view).prompt.endswith("Sing it.")


def test_a_template_is_given_the_next_beat_the_selection_and_what_was_asked_for() -> None:
    beats = story(chapter(1, "The lamp went out.", beats=("She lights it again", "He leaves")), language="en")
    assert "Where it should lead: She lights it again" in ask(beats, skill_id="dialogue").prompt
    assert "Where it should lead" not in ask(FULL, skill_id="dialogue").prompt
    asked = ask(FULL, skill_id="brainstorm", additional_input="a storm at sea")
    assert asked.prompt.count("a storm at sea") == 1
    assert "what the selected words name" in ask(FULL, skill_id="describe", selection=(0, 4)).prompt


@pytest.mark.parametrize("name", [name for name, skill in SKILLS.items() if skill.answer.prose])
def test_the_next_beat_is_part_of_what_every_writing_skill_is_given(name: str) -> None:
    beats = story(chapter(1, "The lamp went out.", beats=("She lights it again", "He leaves")), language="en")
    assert "She lights it again" in ask(beats, skill_id=name, selection=(0, 8)).prompt


def test_a_template_is_given_the_words_that_are_selected_whichever_way_and_whatever_the_line_ends() -> None:
    own = Skills({"sing": Skill(id="sing", says={"en": "Sing: {{ selection }}.", "zh": "唱"})})
    view = View(FULL.view.project, FULL.view.timeline, {**FULL.view.rooms, Skills: own})
    request = FULL.request(skill_id="sing", selection=(8, 5), unsaved_text="One\r\n\r\ntwo three")
    assert Engine([SkillSource()]).assemble(request, view).prompt.endswith("Sing: two.")
