"""Personas and headings in the prompts of a chat: who is told what of whom, and under which heading (ctx-3, cht-2)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabula.conversation.participants import Participant, save_participant
from fabula.core.view import Language
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

ANN, MARA, BO = "player:ann", "pawn:mara", "pawn:bo"
PERSONA = "{{user}} wears a red coat and owes {{char}} money."


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    """A store of chats."""
    with Workspace(store) as opened:
        yield opened


def start(workspace: Workspace, *people: str, language: Language = "en", **texts: str) -> ProjectHandle:
    """A project in which these participants talk; personas are given by the keys of their ids."""
    store = workspace.store
    projects.create(store, "Pier", project_id="pier", language=language)
    with store.write(project="pier") as tx:
        for one in people:
            key = one.partition(":")[2]
            save_participant(tx, Participant(id=one, name=key.title(), persona=texts.get(key, "")))
    project = workspace.project("pier")
    project.conversations.start(list(people), title="Talk")
    for one in people:
        project.conversations.record("Talk", "Hm.", speaker=one)
    return project


def ask(project: ProjectHandle, speaker: str, text: str = "") -> str:
    request = project.request(
        conversation_id="Talk", speaker_id=speaker, recipe="chat", skill_id="", document_id="", additional_input=text
    )
    return project.assemble(request).prompt


def test_the_persona_of_a_player_stands_in_every_speakers_prompt_in_the_same_place(workspace: Workspace) -> None:
    project = start(workspace, ANN, MARA, BO, ann=PERSONA, mara="Mara hides the key.", bo="Bo is afraid.")
    mara, bo = (ask(project, one) for one in (MARA, BO))
    shown = "[Ann]\nAnn wears a red coat and owes Bo, Mara money."
    assert mara.count(shown) == bo.count(shown) == 1
    until = mara.index("[Taking part in this conversation")
    assert mara.index(shown) < until
    assert bo.startswith(mara[:until])
    assert "hides the key" not in bo, "the persona of anybody else stays their own"


def test_between_two_the_character_is_told_the_persona_of_the_player(workspace: Workspace) -> None:
    project = start(workspace, ANN, MARA, ann=PERSONA, mara="Mara hides the key.")
    mara = ask(project, MARA)
    assert "Ann wears a red coat and owes Mara money." in mara
    assert mara.startswith("Mara hides the key.")
    assert ask(project, ANN).count("wears a red coat") == 1, "in the identity's place alone"


def test_whoever_is_not_present_is_not_told_the_persona_of_a_player(workspace: Workspace) -> None:
    project = start(workspace, ANN, MARA, BO, ann=PERSONA)
    assert "red coat" in ask(project, BO)
    project.conversations.leave("Talk", BO)
    assert "red coat" not in ask(project, BO)
    assert "red coat" in ask(project, MARA)
    project.conversations.leave("Talk", ANN)
    assert "red coat" not in ask(project, MARA)


def test_a_player_who_speaks_among_several_is_told_the_own_persona_once(workspace: Workspace) -> None:
    project = start(workspace, ANN, MARA, BO, ann=PERSONA)
    assert ask(project, ANN).count("red coat") == 1


def test_the_macro_persona_is_the_persona_of_the_player(workspace: Workspace) -> None:
    project = start(workspace, ANN, MARA, ann="A red coat.", mara="Mara sees this: {{persona}}")
    assert "Mara sees this: A red coat." in ask(project, MARA)


@pytest.mark.parametrize(
    ("language", "rules", "fixed", "preferences", "everybody"),
    [
        ("en", "[Project rules]", "[To keep in mind in this conversation]", "[Preferences and style]", "[Taking part"),
        ("zh", "[项目规则]", "[本次对话中须牢记]", "[偏好与风格]", "【参与这段对话的有："),
    ],
)
def test_fixed_prompts_and_participants_have_headings_of_their_own(
    workspace: Workspace, language: Language, rules: str, fixed: str, preferences: str, everybody: str
) -> None:
    project = start(workspace, ANN, MARA, BO, language=language)
    project.participant_texts.add("prompt", MARA, "Mara never sells the barometer.")
    prompt = ask(project, MARA)
    assert f"{fixed}\nMara never sells the barometer." in prompt
    assert rules not in prompt
    assert preferences not in prompt
    assert f"\n\n{everybody}" in prompt, "no item of a list"
    project.codex.add("The Tide", kind="lore", level="always", description="It is late.")
    both = ask(project, MARA)
    assert both.index(rules) < both.index("It is late.") < both.index(fixed) < both.index("barometer")


def test_lines_of_a_chinese_project_have_chinese_punctuation(workspace: Workspace) -> None:
    project = start(workspace, ANN, MARA, BO, language="zh", ann="穿红大衣。")
    project.conversations.record("Talk", "谁点的灯？", speaker=ANN)
    project.conversations.record("Talk", "是我。", speaker=MARA, audience=[ANN, BO])
    prompt = ask(project, BO, "再说一遍。")
    for line in ("Ann：谁点的灯？", "Mara → Ann、Bo：是我。", "Ann：再说一遍。", "【Ann】\n穿红大衣。"):
        assert line in prompt


def test_lines_of_an_english_project_stay_as_they_are(workspace: Workspace) -> None:
    project = start(workspace, ANN, MARA, BO)
    project.conversations.record("Talk", "It was me.", speaker=MARA, audience=[ANN, BO])
    assert "Mara → Ann, Bo: It was me." in ask(project, BO)
