"""A player and a character alone: which prompt their chat sends, what it is told and how much of it (cnv-7, cnv-8)."""

from __future__ import annotations

import pytest

from fabula.settings.edits import set_value
from fabula.workspace.project import ProjectHandle
from tests.workspace.chat.scripted import ScriptedProvider, collect

SAID = "and the wind went on and on over the water. " * 12  # about 500 characters


def set_setting(project: ProjectHandle, name: str, value: object) -> None:
    assert project.store is not None
    with project.store.write(project=project.id) as tx:
        set_value(tx, name, value, scope="project")


def talk(project: ProjectHandle, text: str, conversation: str = "Quay") -> str:
    """Say something; the last prompt that was sent."""
    model = ScriptedProvider()
    collect(project.chat.send(conversation, text, model=model))
    return model.prompts[-1][1]


def fill(project: ProjectHandle, conversation: str, count: int, speakers: tuple[str, str] = ("Ann", "Mara")) -> None:
    for number in range(count):
        for who in speakers:
            project.conversations.record(conversation, f"Word{number:02} of {who}, {SAID}", speaker=who)


@pytest.fixture
def quay(pier: ProjectHandle) -> ProjectHandle:
    """The cast of the pier, where the player talks to Mara alone after much was said."""
    pier.chat.start(["Mara"], title="Quay")
    pier.participant_texts.add("prompt", "Mara", "FIXED words.")
    pier.participant_texts.add("biography", "Mara", "BIOGRAPHY: born at sea.")
    pier.codex.add("Kestrel", kind="lore", description="ENTRY of the Kestrel.")
    return pier


def test_what_was_said_before_stands_in_its_order_and_before_all_else(quay: ProjectHandle) -> None:
    fill(quay, "Quay", 20)
    prompt = talk(quay, "What of the Kestrel, and of Word02?")
    parts = (
        "FIXED words.",
        "BIOGRAPHY",
        "Word02 of Ann",
        "ENTRY of the Kestrel.",
        "Word19 of Mara",
        "What of the Kestrel",
    )
    places = [prompt.index(words) for words in parts]
    assert places == sorted(places)


def test_a_chat_between_two_is_told_so_many_characters_beside_the_conversation(quay: ProjectHandle) -> None:
    fill(quay, "Quay", 20)

    def told(text: str) -> tuple[int, int]:
        """How much of the earlier messages stands before the conversation, and how many messages it shows."""
        prompt = talk(quay, text)
        before, _, after = prompt.partition("<user> ")
        return before.count(", and the wind"), after.count(", and the wind")

    earlier, shown = told("What of the wind?")
    assert 0 < earlier <= 3000 // len(SAID)
    set_setting(quay, "History.MaxPromptChars", 1500)
    fewer, running = told("What of the water?")
    assert 0 < fewer < earlier
    assert running >= shown > 4, "the running conversation is not capped"
    set_setting(quay, "History.MaxPromptChars", 5)
    prompt = talk(quay, "And now?")
    assert "FIXED" not in prompt
    assert "BIOGRAPHY" not in prompt


def test_a_group_has_no_cap_of_its_own_and_that_of_the_project(quay: ProjectHandle) -> None:
    quay.participant_texts.add("prompt", "Bo", "FIXED for Bo.")
    quay.participant_texts.add("prompt", "Cleo", f"FIXED for long, {SAID * 9}")
    assert "FIXED for long" in talk(quay, "@Mara, hello", "Pier")
    set_setting(quay, "History.MaxPromptChars", 1000)
    prompt = talk(quay, "@Mara, and now?", "Pier")
    assert "FIXED for long" not in prompt
    assert "FIXED for Bo." in prompt


def test_whoever_came_and_left_before_anything_was_said_makes_no_group(quay: ProjectHandle) -> None:
    alone = talk(quay, "Hello.")
    quay.conversations.join("Quay", "Bo")
    assert "BIOGRAPHY" not in quay.chat.inspect("Quay", "Bo").result.prompt
    quay.conversations.leave("Quay", "Bo")
    prompt = talk(quay, "Was somebody there?")
    assert alone.startswith("<system> PERSONA-MARA")
    assert prompt.startswith("<system> PERSONA-MARA")
    assert "BIOGRAPHY" in prompt
    assert "Ann: " not in prompt, "lines need no names"
    quay.conversations.join("Quay", "Bo")
    quay.conversations.record("Quay", "Bo is here.", speaker="Ann")
    quay.conversations.leave("Quay", "Bo")
    prompt = talk(quay, "And now?")
    assert "BIOGRAPHY" not in prompt, "Bo heard something"
    assert "Ann: And now?" in prompt


def test_user_is_the_player_who_speaks_and_no_player_who_left(quay: ProjectHandle) -> None:
    quay.participants.edit("Mara", persona="PERSONA-MARA follows {{user}}.")
    names = ["Ben", "Abe"]
    for name in names:
        quay.participants.add(name, namespace="player", key=name.lower())
        quay.conversations.join("Pier", name)
    said = {}
    for name in ("Ann", *names):
        model = ScriptedProvider()
        collect(quay.chat.send("Pier", "@Mara, hello", speaker=name, model=model))
        said[name] = model.prompts[-1][1]
    assert all(f"PERSONA-MARA follows {name}." in prompt for name, prompt in said.items())
    for name in ("Abe", "Ann"):
        quay.conversations.leave("Pier", name)
    model = ScriptedProvider()
    collect(quay.chat.ask("Pier", ["Mara"], model=model))
    assert "PERSONA-MARA follows Ben." in model.prompts[-1][1]
