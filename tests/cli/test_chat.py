"""`fabula chat`, as a person and as another program use it, against a server that answers for each speaker."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fabula.cli.chat.lines import list_completions
from fabula.cli.chat.slash_commands import COMMANDS
from tests.cli.test_codex import Room, room
from tests.jobs.fake_jobs import wait_until
from tests.llm.server import Exchange, ModelServer, chunk, error_answer, openai_answer, run_server

__all__ = ["room"]
_TURN = re.compile(r"\[(.+?) speaks next")
WORDS = {"Mara Venn": ("It was ", "me."), "Hope Tarn": ("I count ", "tin."), "Will Tarn": ("Mind the ", "swell.")}


def asked_speaker(exchange: Exchange) -> str:
    """Who is asked, by the end of the prompt."""
    prompt = "\n".join(str(one["content"]) for one in exchange.request["messages"])
    return [found[1] for found in _TURN.finditer(prompt)][-1]


async def answer_by_name(exchange: Exchange) -> None:
    await openai_answer(*WORDS[asked_speaker(exchange)])(exchange)


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with run_server() as running:
        running.script = answer_by_name
        yield running


class Chat:
    """The command with lines from a pipe."""

    def __init__(self, room: Room, server: ModelServer) -> None:
        self.room, self.server = room, server
        self.at = ("--provider", "vllm", "--base-url", server.url, "--model", "gpt-4o-mini")

    def run(self, *options: str, lines: str = "", code: int = 0, at: tuple[str, ...] | None = None) -> str:
        """What is said; what a person is told beside it is in `told`."""
        return self.room.run("chat", "Coast", *options, *(self.at if at is None else at), code=code, stdin=lines)

    def events(self, *options: str, lines: str, code: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*options, "--json", lines=lines, code=code).splitlines()]

    @property
    def told(self) -> str:
        return self.room.aside


@pytest.fixture
def chat(room: Room, model_server: ModelServer) -> Chat:
    return Chat(room, model_server)


def test_each_line_of_a_pipe_is_answered(chat: Chat) -> None:
    said = chat.run("--with", "Mara", lines="Who lit the lamp?\nReally?\n")
    assert said == "Mara Venn: It was me.\nMara Venn: It was me.\n"
    assert "Mara Venn of the codex takes part from now on." in chat.told
    assert "vllm/gpt-4o-mini answers" in chat.told
    assert 'To go on later: fabula chat Coast --conversation "Mara Venn"' in chat.told
    shown = chat.room.run("history", "show", "Coast", "Mara Venn")
    assert shown.splitlines()[:2] == ["1. Writer: Who lit the lamp?", "2. Mara Venn: It was me."]


def test_a_mention_asks_one_of_several(chat: Chat) -> None:
    both = ("--with", "Mara", "--with", "Hope Tarn")
    assert sorted(chat.run(*both, lines="Well?\n").splitlines()) == ["Hope Tarn: I count tin.", "Mara Venn: It was me."]
    assert chat.run(*both, lines="@Mara well?\n") == "Mara Venn: It was me.\n"


def test_a_first_name_and_the_names_of_the_codex_entry_ask_one_of_several(chat: Chat) -> None:
    room = chat.room
    room.run("participant", "add", "Coast", "Mara Venn", "--persona", "Dry.")
    room.run("participant", "add", "Coast", "Will Tarn", "--persona", "Wet.", "--alias", "Skipper")
    people = ("--with", "Mara Venn", "--with", "Will Tarn")
    for name in ("Will", "Skipper", "Tarn"):
        assert chat.run(*people, lines=f"@{name} well?\n") == "Will Tarn: Mind the swell.\n"
    assert chat.run(*people, lines="@Miss Venn well?\n") == "Mara Venn: It was me.\n"
    assert "Nobody" not in chat.told
    assert chat.run(*people, lines="/whisper Miss Venn well?\n") == "Mara Venn (to Writer only): It was me.\n"


def test_a_mention_of_nobody_who_is_present_is_told(chat: Chat) -> None:
    chat.room.run("participant", "add", "Coast", "Iris Vale", "--persona", "Quick.")
    both = ("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier")
    chat.run(*both, lines="@Zed @Hopp @Will Tarn @Iris where is it? me@home.org\n")
    assert "Nobody here is called Zed." in chat.told
    assert "Nobody here is called Hopp. Did you mean @Hope Tarn?" in chat.told
    assert "Will Tarn takes no part in this conversation." in chat.told
    assert "Iris Vale takes no part in this conversation." in chat.told
    assert "home" not in chat.told
    chat.room.run("history", "leave", "Coast", "Pier", "Hope Tarn")
    events = chat.events("--conversation", "Pier", lines="@Mrs Tarn?\n")
    assert next(one["notes"] for one in events if one["event"] == "message") == [
        "Hope Tarn has left this conversation."
    ]


def test_what_is_said_elsewhere_meanwhile_is_shown_once(chat: Chat) -> None:
    chat.run("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier", lines="@Mara one?\n")
    command = [sys.executable, "-m", "fabula.cli.main", "history", "record", "Coast", "Pier"]

    async def answer_after_others(exchange: Exchange) -> None:
        if "Well?" in str(exchange.request):
            await asyncio.to_thread(subprocess.run, [*command, "Two.", "--as", "Hope Tarn"], check=True)
            await asyncio.to_thread(
                subprocess.run, [*command, "Secret.", "--as", "Hope Tarn", "--to", "Mara"], check=True
            )
        await answer_by_name(exchange)

    chat.server.script = answer_after_others
    said = chat.run("--conversation", "Pier", lines="@Mara Well?\n/mode\n").splitlines()
    assert said[2:] == ["Mara Venn: It was me.", "4. Hope Tarn: Two."]


def test_a_conversation_that_is_deleted_elsewhere_ends_the_chat(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabula.workspace.conversations import ConversationVerbs

    async def delete_it(exchange: Exchange) -> None:
        for one in verbs:
            one.delete("Pier")
        await answer_by_name(exchange)

    verbs: list[ConversationVerbs] = []
    read_page = ConversationVerbs.read_page

    def remember(self: ConversationVerbs, *args: Any, **options: Any) -> Any:
        verbs[:] = [self]
        return read_page(self, *args, **options)

    monkeypatch.setattr(ConversationVerbs, "read_page", remember)
    chat.server.script = delete_it
    chat.run("--with", "Mara", "--title", "Pier", lines="One.\nTwo.\nThree.\n", code=1)
    assert chat.told.count("This conversation was deleted, so the chat ends. To bring it back: fabula undo Coast") == 1
    assert "'Pier'" not in chat.told
    assert len(chat.server.exchanges) == 1


def test_a_message_that_is_refused_leaves_no_conversation(chat: Chat) -> None:
    before = chat.room.read("history", "list", "Coast")
    chat.run("--with", "Mara", lines="x" * 200_001 + "\n", code=1)
    assert "Nothing was said, so the conversation was not kept." in chat.told
    assert chat.room.read("history", "list", "Coast") == before


def test_a_conversation_goes_on_by_name_or_as_the_newest_of_the_same(chat: Chat) -> None:
    chat.run("--with", "Mara", lines="One.\n")
    chat.run("--with", "Mara", "--with", "Hope Tarn", lines="Two.\n")
    chat.run("--with", "Mara", "--title", "Pier", lines="Three.\n")
    assert chat.run("--continue", "--with", "Mara").splitlines()[0] == "Writer: Three."
    assert chat.run("--conversation", "Mara Venn").splitlines()[0] == "Writer: One."
    assert chat.run("--continue").splitlines()[0] == "Writer: Three."
    titles = [one["title"] for one in chat.room.read("history", "list", "Coast")]
    assert {"Pier", "Mara Venn", "Hope Tarn, Mara Venn"} <= set(titles)
    assert len(titles) == 4  # the sample has one of its own


def test_nothing_said_leaves_no_conversation(chat: Chat) -> None:
    before = chat.room.read("history", "list", "Coast")
    chat.run("--with", "Mara", lines="/who\n")
    assert "Nothing was said, so the conversation was not kept." in chat.told
    assert chat.room.read("history", "list", "Coast") == before


def test_replies_are_given_again_chosen_corrected_and_taken_back(chat: Chat) -> None:
    lines = (
        "Well?",
        "/swipe",
        "/swipe 1",
        "/edit 2 It was the sea.",
        "/undo",
        "/undo",
        "/undo",
        "/branch 2",
        "/branch",
        "/swipe 9",
    )
    said = chat.run("--with", "Mara", lines="\n".join(lines), code=1)
    assert said.splitlines() == [
        "Mara Venn: It was me.",
        "Mara Venn: It was me.",
        "2. Mara Venn: It was me.",
        "2. Mara Venn: It was the sea.",
        "2. Mara Venn: It was me.",
        "● 1. Writer: Well?",
        "├─○ 3. Mara Venn: It was me.",
        "● 2. Mara Venn: It was me.  ← you are here",
    ]
    assert "Reply 2 of 2." in chat.told
    assert "Reply 1 of 2." in chat.told
    assert "Taken back: the correction of message 2\n" in chat.told
    assert "Taken back: the choice of reply 1\n" in chat.told
    assert "Taken back from message 1 on: Well?" in chat.told
    assert "Choose one by its number, from 1 to 2" in chat.told


def test_a_branch_goes_on_from_an_earlier_message(chat: Chat) -> None:
    chat.run("--with", "Mara", "--title", "Pier", lines="One.\nTwo.\n/branch 2\nThree.\n")
    shown = chat.room.run("history", "show", "Coast", "Pier")
    assert [line.partition(". ")[2] for line in shown.splitlines()] == [
        "Writer: One.",
        "Mara Venn: It was me.",
        "Writer: Three.",
        "Mara Venn: It was me.",
    ]


def test_the_branches_are_shown_as_a_tree(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "One.\nTwo.\n/swipe\nThree.\n/branch 2\n/branch\nFour.\n/branch\n"
    said = chat.run("--with", "Mara", "--title", "Pier", lines=lines).splitlines()
    first = said.index("● 1. Writer: One.")
    assert said[first : first + 7] == [
        "● 1. Writer: One.",
        "● 2. Mara Venn: It was me.  ← you are here",
        "└─○ 3. Writer: Two.",
        "  ├─○ 4. Mara Venn: It was me.",
        "  ○ 5. Mara Venn: It was me.",
        "  ○ 7. Mara Venn: It was me.",
        "Mara Venn: It was me.",
    ]
    assert said[first + 7 :] == [
        "● 1. Writer: One.",
        "● 2. Mara Venn: It was me.",
        "├─○ 3. Writer: Two.",
        "│ ├─○ 4. Mara Venn: It was me.",
        "│ ○ 5. Mara Venn: It was me.",
        "│ ○ 7. Mara Venn: It was me.",
        "● 8. Writer: Four.",
        "● 9. Mara Venn: It was me.  ← you are here",
    ]
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    assert "● 9. Mara Venn：It was me.  ← 当前位置" in chat.run("--conversation", "Pier", lines="/branch\n")


def test_a_tree_has_only_what_whoever_speaks_heard(chat: Chat) -> None:
    chat.run("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier", lines="@Mara well?\n")
    for words in (("A secret.", "--to", "Writer"), ("Aloud.",)):
        chat.room.run("history", "record", "Coast", "Pier", words[0], "--as", "Mara", *words[1:])
    chat.run("--conversation", "Pier", lines="/branch 3\n/whisper Mara Another secret.\n")
    as_hope = chat.run("--conversation", "Pier", "--as", "Hope Tarn", lines="/branch\n")
    assert "secret" not in as_hope
    assert as_hope.splitlines()[-3:] == [
        "● 1. Writer: @Mara well?",
        "● 2. Mara Venn: It was me.  ← you are here",
        "└─○ 4. Mara Venn: Aloud.",
    ]
    leading = chat.run("--conversation", "Pier", lines="/branch\n")
    assert "● 3. Mara Venn (to Writer only): A secret.\n├─○ 4. Mara Venn: Aloud.\n● 5. Writer (to Mara" in leading


def test_whoever_leads_a_game_reads_the_roles_and_nobody_who_plays_does(chat: Chat) -> None:
    people = ("--with", "Mara", "--with", "Hope Tarn", "--with", "Will Tarn", "--title", "Night")
    chat.run(*people, "--mode", "werewolf", lines="Good evening.\n/mode\n")
    assert "What it notes, such as roles or scores: /mode" in chat.told
    roles = re.findall(r"^(Mara Venn|Hope Tarn|Will Tarn): (werewolf|villager)$", chat.told, re.MULTILINE)
    assert sorted(name for name, _ in roles) == ["Hope Tarn", "Mara Venn", "Will Tarn"]
    assert [role for _, role in roles].count("werewolf") == 1
    chat.run("--conversation", "Night", "--as", "Hope Tarn", lines="/mode\n")
    assert re.findall(r"^(.+): (?:werewolf|villager)$", chat.told, re.MULTILINE) == ["Hope Tarn"]
    assert "What it notes" not in chat.told
    events = chat.events("--conversation", "Night", "--as", "Writer", lines="/mode\n")
    assert [one["text"] for one in events if one["event"] == "notice"] == ["The mode is werewolf."]
    for line in ("/mode werewolf restart", "/mode werewolf 重新开始"):
        chat.run("--conversation", "Night", lines=f"{line}\n")
        dealt = re.findall(r"^(Mara Venn|Hope Tarn|Will Tarn): (werewolf|villager)$", chat.told, re.MULTILINE)
        assert sorted(name for name, _ in dealt) == ["Hope Tarn", "Mara Venn", "Will Tarn"]


def test_whoever_failed_is_asked_again(chat: Chat) -> None:
    async def fail_hope(exchange: Exchange) -> None:
        failing = asked_speaker(exchange) == "Hope Tarn" and len(chat.server.exchanges) < 3
        await (error_answer(400, "no")(exchange) if failing else answer_by_name(exchange))

    chat.server.script = fail_hope
    said = chat.run("--with", "Mara", "--with", "Hope Tarn", lines="Well?\n/again Hope Tarn\n", code=1)
    assert said.splitlines() == ["Mara Venn: It was me.", "Hope Tarn: I count tin."]
    assert "To ask again: /again Hope Tarn" in chat.told


def test_a_whisper_is_heard_by_one_and_who_says_so(chat: Chat) -> None:
    lines = "/whisper Mara Venn Meet me.\n/who\n/whisper Mara\n"
    said = chat.run("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier", lines=lines, code=1)
    assert said.splitlines() == [
        "Mara Venn (to Writer only): It was me.",
        "Hope Tarn (@Hope, @Mrs Tarn)",
        "Mara Venn (@Mara, @Miss Venn)",
        "Writer (you)",
        "Message 2 was heard by Mara Venn, Writer.",
    ]
    assert "Say to whom, and what: /whisper NAME TEXT" in chat.told
    assert "Writer (to Mara Venn only): Meet me." in chat.room.run("history", "show", "Coast", "Pier")


def test_what_is_whispered_to_others_is_not_shown(chat: Chat) -> None:
    people = ("--with", "Mara", "--with", "Hope Tarn", "--with", "Will Tarn")
    chat.run(*people, "--mode", "werewolf", "--title", "Night", lines="Good evening.\n")
    assert "You are" in chat.room.run("history", "show", "Coast", "Night")
    said = chat.run("--conversation", "Night")
    assert "Good evening." in said
    assert "You are" not in said


def test_why_has_the_reasons_of_the_prompt_of_a_speaker(chat: Chat) -> None:
    said = chat.run(
        "--with", "Mara", lines="Who was Ephraim Venn?\n/why Ephraim Venn\n/why\n/why Nobodyknows\n", code=1
    )
    assert re.search(r"in +Ephraim Venn", said)
    assert "In the prompt of Mara Venn:" in chat.told
    assert "Say what you ask about: /why NAME" in chat.told
    assert "'Nobodyknows'" in chat.told


def test_whoever_speaks_as_somebody_reads_only_what_they_heard(chat: Chat) -> None:
    """The owner, who speaks as nobody else, reads all."""
    people = ("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier")
    chat.server.script = lambda exchange: openai_answer("Yes.")(exchange)
    chat.run(*people, lines="@Mara Good evening.\n/whisper Mara The rubies lie in the XYZZYX.\n")
    lines = (
        "/save heard.txt",
        "/why XYZZYX",
        "/why @Hope XYZZYX",
        "/why @Mara XYZZYX",
        "/why rubiess",
        "/branch 3",
        "/edit 3 Nothing.",
        "/why evening",
    )
    said = chat.run("--conversation", "Pier", "--as", "Hope Tarn", lines="\n".join(lines), code=1)
    assert (chat.room.folder / "heard.txt").read_text() == "Writer: @Mara Good evening.\n\nMara Venn: Yes.\n"
    assert "rubies" not in said + chat.told.replace("rubiess", "")
    assert chat.told.count("The prompt of Hope Tarn holds nothing called 'XYZZYX'.") == 2
    assert "You speak as Hope Tarn, and see the prompt of nobody else." in chat.told
    assert chat.told.count("Hope Tarn heard no message '3'.") == 2
    assert re.search(r"in +.*Good evening", said)
    said = chat.run("--conversation", "Pier", lines="/save all.txt\n/why @Hope XYZZYX\n")
    assert "XYZZYX" in (chat.room.folder / "all.txt").read_text()
    assert "XYZZYX" in said


def test_recaps_help_and_saves(chat: Chat) -> None:
    lines = "Well?\n/recap\n/help\n/save talk.txt\n/save talk.txt\n/save coast.fabula\n/quit\nNever said.\n"
    said = chat.run("--with", "Mara", lines=lines, code=1)
    assert all(f"/{one.name}" in said for one in COMMANDS)
    assert "There are no summaries or recaps yet." in chat.told
    assert "There is a file talk.txt already." in chat.told
    assert (chat.room.folder / "talk.txt").read_text() == "Writer: Well?\n\nMara Venn: It was me.\n"
    assert (chat.room.folder / "coast.fabula").is_file()
    assert len(chat.server.exchanges) == 1


def test_lines_that_make_no_sense_are_refused_and_the_chat_goes_on(chat: Chat) -> None:
    lines = "\n/brunch\n/xyzzy\n\udcff\udcfe\n/more\n//slash\n"
    said = chat.run("--with", "Mara", "--title", "Pier", lines=lines, code=1)
    assert said == "Mara Venn: It was me.\n"
    assert "An empty line says nothing." in chat.told
    assert "There is no command called 'brunch'. Did you mean branch?" in chat.told
    assert "/again" in chat.told
    assert "not text in UTF-8" in chat.told
    assert "Nobody has replied here yet." in chat.told
    assert "1. Writer: /slash" in chat.room.run("history", "show", "Coast", "Pier")


def test_a_player_who_has_left_is_told_how_to_come_back(chat: Chat) -> None:
    chat.run("--with", "Mara", "--title", "Pier", lines="Well?\n")
    chat.room.run("history", "leave", "Coast", "Pier", "Writer")
    told = chat.run("--conversation", "Pier", lines="Hello?\n", code=2)
    assert "Writer has left this conversation. Let them join first: fabula history join Coast Pier Writer" in told
    assert "Hello?" not in chat.room.run("history", "show", "Coast", "Pier")
    chat.room.run("history", "join", "Coast", "Pier", "Writer")
    chat.room.run("history", "leave", "Coast", "Pier", "Mara Venn")
    said = chat.run("--conversation", "Pier", lines="/more\n/swipe\n", code=1)
    assert "Nobody else is present. Let somebody join: /join NAME" in chat.told
    assert "You talk with ." not in chat.told
    assert chat.told.count("Mara Venn is not present in this conversation. Let them join first.") == 1
    assert said.count("Mara Venn: It was me.") == 2, "on the branch of another reply she has not left"


def test_nobody_whispers_to_themselves(chat: Chat) -> None:
    chat.run("--with", "Hope Tarn", "--title", "Pier", lines="One.\n/whisper Writer Two.\n", code=1)
    assert "You speak as Writer. Say to whom else: /whisper NAME TEXT" in chat.told
    assert "Two." not in chat.room.run("history", "show", "Coast", "Pier")


def test_a_search_for_nothing_and_only_without_with_are_refused(chat: Chat) -> None:
    assert "Say what to search for." in chat.room.run("history", "search", "Coast", " ", code=2)
    for option in ("--only", "--any"):
        assert "Say with whom: --with NAME" in chat.room.run("history", "list", "Coast", option, code=2)


def test_wrong_names_are_refused_before_anything_begins(chat: Chat) -> None:
    before = [chat.room.read(one, "list", "Coast") for one in ("history", "participant")]
    refused = {
        ("--with", "Maro"): "Did you mean Mara",
        ("--with", "Zzyzx"): "fabula participant add Coast Zzyzx --persona TEXT",
        ("--with", "Mara", "--mode", "werwolf"): "Did you mean werewolf?",
        ("--conversation", "Peer"): "There is no conversation called 'Peer'.",
        ("--with", "Mara", "--as", "Annn"): "fabula participant add Coast Annn --kind player",
        ("--continue", "--with", "Hope Tarn"): "There is no such conversation yet.",
        ("--with", "Mara", "--document", "ninety"): "ninety",
        ("--with", "Mara", "--role", "coder"): "--role is ROLE=NAME",
        ("--conversation", "desk", "--continue"): "Leave out --continue",
        ("--with", "Mara", "--mode", "workflow"): "MODE_ROLES_INVALID",
        (): "Say with whom: --with NAME",
    }
    for options, sentence in refused.items():
        assert sentence in chat.run(*options, lines="Hm.\n", code=2), options
    assert "There is no project called 'Cost'." in chat.room.run("chat", "Cost", code=3)
    assert [chat.room.read(one, "list", "Coast") for one in ("history", "participant")] == before
    assert not chat.server.exchanges


def test_somebody_else_can_be_played(chat: Chat) -> None:
    assert chat.run("--with", "Mara", "--as", "Hope Tarn", lines="Well?\n/who\n").splitlines() == [
        "Mara Venn: It was me.",
        "Hope Tarn (you, @Hope, @Mrs Tarn)",
        "Mara Venn (@Mara, @Miss Venn)",
        "Message 2 was heard by Hope Tarn, Mara Venn.",
    ]
    refused = chat.run("--conversation", "Mara Venn", "--as", "Will Tarn", code=2)
    assert 'fabula history join Coast "Mara Venn" "Will Tarn"' in refused


def test_json_has_one_event_a_line(chat: Chat) -> None:
    events = chat.events("--with", "Mara", lines="Well?\n\n/who\n/why Mara\n/recap\n/undo\n", code=1)
    assert [one["event"] for one in events] == [
        *("conversation", "message", "start", "delta", "delta", "reply", "end"),
        *("refusal", "conversation", "why", "recaps", "notice"),
    ]
    assert events[5]["message"]["content"] == "It was me."
    assert events[5]["name"] == "Mara Venn"
    assert events[7]["error"]["code"] == "CONTEXT_REQUEST_INVALID"


def test_a_greeting_begins_the_chat(chat: Chat) -> None:
    chat.room.run("participant", "add", "Coast", "Bo")
    chat.room.run("participant", "card", "Coast", "Bo", "--first-message", "{{char}} nods to {{user}}.")
    said = chat.run("--with", "Bo", "--greeting", "Bo", "--title", "Pier", lines="", at=("--provider", "clipboard"))
    assert "Bo: Bo nods to Writer." in said
    assert "Nothing was said, so the conversation was not kept." in chat.told
    chat.run("--with", "Bo", "--greeting", "Mara", code=2)
    assert "Mara Venn has no greeting." in chat.told
    chat.run("--conversation", "Pier", "--greeting", "Bo", code=2)
    assert "--greeting begins a conversation." in chat.told


def test_without_a_model_the_prompt_is_shown_and_the_answer_pasted(chat: Chat) -> None:
    none = ("--provider", "clipboard")
    lines = "Well?\nIt was\nthe sea.\n.\n/swipe\nIt was me.\n.\n/swipe 1\nAgain?\n.\n"
    said = chat.run("--with", "Mara", "--title", "Pier", lines=lines, at=none)
    assert "[Mara Venn speaks next." in said
    assert "Mara Venn: It was\nthe sea.\n" in said
    assert "Reply 2 of 2." in chat.told
    assert "Nothing was pasted. To ask Mara Venn again: /again Mara Venn" in chat.told
    chat.run("--conversation", "Pier", "--prompt", "prompt.txt", lines="/again\nYes.\n", at=none)
    assert "The prompt for Mara Venn is in prompt.txt." in chat.told
    assert "Again?" in (chat.room.folder / "prompt.txt").read_text()
    assert chat.room.run("history", "show", "Coast", "Pier").endswith("Writer: Again?\n5. Mara Venn: Yes.\n")


def test_names_and_commands_are_completed() -> None:
    names, commands = ["Mara Venn", "Mara", "何 小"], ["swipe", "save"]
    assert list_completions("ma", "@", is_first=False, names=names, commands=commands) == ["Mara Venn ", "Mara "]
    assert list_completions("Mara V", "＠", is_first=False, names=names, commands=commands) == ["Mara Venn "]
    assert list_completions("何", "@", is_first=False, names=names, commands=commands) == ["何 小 "]
    assert list_completions("s", "/", is_first=True, names=names, commands=commands) == ["swipe ", "save "]
    assert list_completions("s", "/", is_first=False, names=names, commands=commands) == []
    assert list_completions("why Mara V", "/", is_first=True, names=names, commands=commands) == ["why Mara Venn"]
    assert list_completions("s", "", is_first=False, names=names, commands=commands) == []


# A terminal: Ctrl-C must reach the program as a signal, so the terminal is its controlling one.
_PROGRAM = (
    "import fcntl, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "signal.signal(signal.SIGINT, signal.default_int_handler); from fabula.cli.main import main; main()"
)


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """The command on a pseudo-terminal."""

    def __init__(self, chat: Chat, *options: str, **environment: str) -> None:
        pty = pytest.importorskip("pty")
        self._master, slave = pty.openpty()
        self._shown = bytearray()
        variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, "chat", "Coast", *options, *chat.at],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            cwd=chat.room.folder,
            env={**variables, "TERM": "xterm", "COLUMNS": "200", "INPUTRC": "/dev/null", **environment},
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 4096)
            except OSError:
                return
            if not data:
                return
            self._shown += data

    @property
    def shown(self) -> str:
        return bytes(self._shown).decode("utf-8", "replace")

    def wait_for(self, text: str, *, times: int = 1) -> None:
        wait_until(lambda: self.shown.count(text) >= times, seconds=60)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for_prompt(self) -> None:
        wait_until(lambda: _ESCAPES.sub("", self.shown).endswith("Writer> "), seconds=60)

    def answer(self, line: str, shown: str) -> None:
        """Type a line at a prompt, and wait for what follows and for the next prompt."""
        self.wait_for_prompt()
        self.type(f"{line}\r")
        self.wait_for(shown)
        self.wait_for_prompt()

    def end(self) -> int:
        """Press Ctrl-D at a prompt, and return the exit code."""
        self.wait_for_prompt()
        self.type("\x04")
        return self.process.wait(60)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(60)
        self._reader.join(10)
        os.close(self._master)


def test_a_terminal_completes_names_and_shows_them_in_colour(chat: Chat) -> None:
    with Terminal(chat, "--with", "Hope Tarn", "--with", "Mara") as terminal:
        terminal.wait_for_prompt()
        terminal.type("@Hope T\t")
        terminal.wait_for("@Hope Tarn ")
        terminal.type("well?\r")
        terminal.wait_for("I count tin.")
        terminal.wait_for_prompt()
        terminal.type("/swi\t")
        terminal.wait_for("/swipe ")
        terminal.type("\x15")
        terminal.type("/who\r")
        terminal.wait_for("was heard by")
        assert terminal.end() == 0
    assert re.search(r"(\x1b\[[0-9;]*m)+Hope Tarn\x1b\[0m: I count tin\.", terminal.shown)
    assert "To go on later:" in terminal.shown
    assert chat.room.run("history", "show", "Coast", "Hope Tarn, Mara Venn").startswith("1. Writer: @Hope Tarn well?")


def test_no_colour_where_nobody_wants_it(chat: Chat) -> None:
    with Terminal(chat, "--with", "Mara", NO_COLOR="1") as terminal:
        terminal.answer("Well?", "It was me.")
        assert terminal.end() == 0
    assert "Mara Venn: It was me." in terminal.shown
    assert "\x1b[1m" not in terminal.shown


def test_ctrl_c_stops_the_answer_keeps_what_came_and_the_chat_goes_on(chat: Chat) -> None:
    async def without_end(exchange: Exchange) -> None:
        await exchange.send_head()
        while True:
            await exchange.send_event(chunk("word "))
            await asyncio.sleep(0.02)

    chat.server.script = without_end
    with Terminal(chat, "--with", "Mara", "--title", "Pier") as terminal:
        terminal.wait_for_prompt()
        terminal.type("Well?\r")
        terminal.wait_for("word word")
        terminal.type("\x03")
        terminal.wait_for("Stopped. What was received is kept")
        assert chat.server.client_left.wait(10)
        terminal.wait_for_prompt()
        terminal.type("half a line")
        terminal.wait_for("half a line")
        terminal.type("\x03")
        terminal.wait_for("To end the chat: Ctrl-D or /quit")
        chat.server.script = answer_by_name
        terminal.answer("And now?", "It was me.")
        assert terminal.end() == 0
    shown = chat.room.run("history", "show", "Coast", "Pier")
    assert re.match(r"1\. Writer: Well\?\n2\. Mara Venn: word [word ]+\n3\. Writer: And now\?\n", shown)


def test_a_message_is_corrected_in_the_editor(chat: Chat) -> None:
    editor = chat.room.folder / "editor.py"
    editor.write_text("import sys, pathlib; pathlib.Path(sys.argv[1]).write_text('Nobody.\\n')")
    command = f"{sys.executable} {editor}"
    with Terminal(chat, "--with", "Mara", "--title", "Pier", EDITOR=command, VISUAL="") as terminal:
        terminal.answer("Well?", "It was me.")
        terminal.answer("/edit", "Nobody.")
        assert terminal.end() == 0
    assert "2. Mara Venn: Nobody." in chat.room.run("history", "show", "Coast", "Pier")


def test_a_chat_in_chinese_holds_no_english(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.cli.test_chinese import find_words

    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    chat.run("--with", "Mara", lines="/who\n/recap\n/help\nWell?\n/undo\n\n/branch\n/why\n/swipe 7\n", code=1)
    commands = "|".join(one.name for one in COMMANDS)
    names = r"Mara Venn|Well\?|vllm/gpt-4o-mini|`background = 名称`|models\.toml|fabula chat.*|[A-Z_]{5,}:"
    told = re.sub(rf"/({commands})\b|{names}", "", chat.told)
    assert find_words(told) - {"Writer"} == set()


def test_lines_of_a_chat_in_chinese_have_chinese_punctuation(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    said = chat.run("--with", "Mara", lines="/whisper Mara 是谁？\n/who\n").splitlines()
    assert "Mara Venn（只对Writer）：It was me." in said
    assert any(line.endswith("（你）") for line in said)
    assert not [line for line in said if re.search(r"[^\x00-\x7f](?:: | \()", line) or line.startswith("Mara Venn: ")]


def test_a_chinese_chat_is_called_by_its_names_as_chinese_writes_them(chat: Chat) -> None:
    room = chat.room
    room.run("new", "雾港", "--language", "zh")
    for name in ("林远", "青禾"):
        room.run("participant", "add", "雾港", name, "--persona", "寡言。")
    room.run(
        "chat",
        "雾港",
        "--with",
        "林远",
        "--with",
        "青禾",
        "--provider",
        "clipboard",
        stdin="你好。\n我。\n.\n你。\n.\n",
    )
    assert "林远、青禾" in room.run("history", "list", "雾港")


def test_a_conversation_is_saved_as_plain_text_from_a_terminal(chat: Chat) -> None:
    with Terminal(chat, "--with", "Mara") as terminal:
        terminal.answer("Well?", "It was me.")
        terminal.answer("/save talk.md", "The conversation is saved in talk.md.")
        assert terminal.end() == 0
    assert (chat.room.folder / "talk.md").read_text() == "Writer: Well?\n\nMara Venn: It was me.\n"


def test_save_names_what_it_writes_and_how_to_name_another_file(chat: Chat) -> None:
    lines = "Well?\n/save coast.fabula\n/save coast.fabula\n/save talk.pdf\n/save talk.txt\n/save talk.txt\n"
    chat.run("--with", "Mara", lines=lines, code=1)
    assert "There is a file coast.fabula already. Nothing was written. Name another one: /save FILE" in chat.told
    assert "There is a file talk.txt already. Nothing was written. Name another one: /save FILE" in chat.told
    assert "The conversation is saved as .txt or .md, and the project as .fabula." in chat.told
    assert "--overwrite" not in chat.told
    assert not (chat.room.folder / "talk.pdf").exists()


def test_a_chosen_reply_is_shown_as_a_whole_and_the_hint_names_another(chat: Chat) -> None:
    async def answer_long(exchange: Exchange) -> None:
        await openai_answer("It was the sea. " * 40, "The end.")(exchange)

    chat.server.script = answer_long
    said = chat.run("--with", "Mara", lines="Well?\n/swipe\n/swipe 1\n/branch 3\n")
    assert said.count("The end.") == 4
    assert "Reply 2 of 2. Choose another one: /swipe 1" in chat.told
    assert "Reply 1 of 2. Choose another one: /swipe 2" in chat.told


def test_choosing_the_reply_that_is_chosen_changes_nothing(chat: Chat) -> None:
    chat.run("--with", "Mara", "--title", "Pier", lines="Well?\n/edit 2 It was the sea.\n/swipe 1\n/undo\n")
    assert "2. Mara Venn: It was me." in chat.room.run("history", "show", "Coast", "Pier")


def test_an_empty_answer_leaves_one_out_and_the_others_are_asked(chat: Chat) -> None:
    people = ("--with", "Hope Tarn", "--with", "Mara", "--with", "Will Tarn", "--title", "Pier")
    lines = "Well?\nTin.\n.\n.\nSwell.\n.\n/again\nMe.\n.\n"
    chat.run(*people, lines=lines, at=("--provider", "clipboard"))
    told = chat.told
    shown = chat.room.run("history", "show", "Coast", "Pier").splitlines()
    said = sorted(line.partition(". ")[2] for line in shown[1:])
    names = [one.partition(":")[0] for one in said]
    assert names == ["Hope Tarn", "Mara Venn", "Will Tarn"]
    assert told.count("Nothing was pasted. To ask ") == 1


def test_a_refused_answer_leaves_one_out_and_the_others_are_asked(chat: Chat) -> None:
    people = ("--with", "Hope Tarn", "--with", "Mara", "--with", "Will Tarn", "--title", "Pier")
    lines = "Well?\nTin.\n.\nWriter: I think so.\n.\nSwell.\n.\n"
    chat.run(*people, lines=lines, at=("--provider", "clipboard"), code=1)
    refused = re.search(r"(?m)^LLM_OTHER_SPEAKER: (.+) was asked, and the answer is in the name of Writer", chat.told)
    assert refused
    assert f"To ask {refused[1]} again: /again {refused[1]}" in chat.told
    shown = chat.room.run("history", "show", "Coast", "Pier").splitlines()
    assert [line.partition(": ")[2] for line in shown] == ["Well?", "Tin.", "Swell."]


def test_numbers_of_the_list_stand_for_conversations_and_participants(chat: Chat) -> None:
    room = chat.room
    for title in ("Quay", "Pier", "Pier"):
        chat.run("--with", "Mara", "--title", title, lines=f"{title}?\n")
    assert "This conversation is called Pier 2." in chat.told
    listed = room.run("history", "list", "Coast", "--limit", "2", "--page", "2").splitlines()
    assert listed[1].split()[0] == "3"
    assert "Writer: Quay?" in room.run("history", "show", "Coast", "3")
    assert "Writer: Pier?" in room.run("history", "show", "Coast", "1")
    found = room.run("history", "list", "Coast", "--with", "Writer", "--only")
    assert "There is no such conversation." in found
    assert "The list has no page 9." in room.run("history", "list", "Coast", "--page", "9")
    numbers = [line.split()[0] for line in room.run("participant", "list", "Coast").splitlines()[1:]]
    assert room.run("participant", "show", "Coast", numbers[0]).startswith("Mara Venn")


def test_people_join_and_leave_and_the_mode_changes_within_the_chat(chat: Chat) -> None:
    lines = "Well?\n/join Hope Tarn\n/join Hope Tarn\nAnd now?\n/leave Hope\n/mode quiz\n/mode\n/leave Writer\n/undo\n"
    said = chat.run("--with", "Mara", "--title", "Pier", lines=lines, code=1).splitlines()
    assert said.count("Hope Tarn: I count tin.") == 1
    assert chat.told.count("The mode is quiz.") == 2
    assert "You speak as Writer." in chat.told
    assert "Taken back: the mode quiz" in chat.told
    chat.run("--conversation", "Pier", "--with", "Will Tarn", lines="/quit\n")
    assert "Will Tarn takes part from now on. To take that back: /leave Will Tarn" in chat.told
    joined = chat.room.run("history", "join", "Coast", "Pier", "Will Tarn")
    assert joined == "Will Tarn is present already. Nothing was changed.\n"
    assert "You cannot talk with yourself." in chat.run("--as", "Mara", "--with", "Mara", code=2)


def test_options_of_a_group_are_set_by_words_and_roles_of_no_mode_are_refused(chat: Chat) -> None:
    people = ("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier")
    lines = "One?\nTwo?\n/mode group choice=hand\nThree?\n/mode group choice=loud\n/mode group max_replies=0\n"
    said = chat.run(*people, "--mode", "group", "--role", "choice=turn", lines=lines, code=1).splitlines()
    assert sorted(said) == ["Hope Tarn: I count tin.", "Mara Venn: It was me."]
    assert "'loud' is no way to choose who speaks." in chat.told
    assert "(max_replies) is a whole number from 1 on." in chat.told
    chat.run("--conversation", "Pier", lines="/mode group chioce=turn\n", code=1)
    assert "no option 'chioce'. Its options: choice, max_replies." in chat.told
    for where in (people, ("--conversation", "Pier")):
        chat.run(*where, "--role", "coder=Mara", code=2)
        assert "MODE_ROLES_INVALID" in chat.told
        assert "has no roles to give" in chat.told


def test_ids_are_not_shown_where_names_belong(chat: Chat) -> None:
    chat.room.run("participant", "add", "Coast", "Iris Vale", "--persona", "Quick.")
    people = ("--with", "Iris Vale", "--with", "Mara", "--title", "Pier")
    chat.server.script = lambda exchange: openai_answer("Yes.")(exchange)
    said = chat.run(*people, lines="Well?\n/whisper Mara QQWW\n/why @Iris QQWW\n/why Well\n/leave Will Tarn\n", code=1)
    assert "Iris Vale does not know this; known to Mara Venn, Writer" in said
    assert "There is no entry" not in chat.told
    shown = chat.room.run("inspect", "Coast", "--conversation", "Pier", "--speaker", "Iris Vale")
    refused = chat.room.run("history", "record", "Coast", "Pier", "Hm.", "--as", "Writer", "--to", "Iris Vale")
    chat.room.run("history", "leave", "Coast", "Pier", "Iris Vale")
    refused += chat.room.run("history", "record", "Coast", "Pier", "Hm.", "--as", "Iris Vale", code=2)
    refused += chat.room.run("history", "leave", "Coast", "Pier", "Iris Vale", code=2)
    assert "Iris Vale is not present in this conversation." in refused
    assert "Iris Vale does not take part in this conversation." in refused
    for text in (said, chat.told, shown, refused):
        assert not re.search(r"(persona|player|character):", text), text


def test_points_of_a_quiz_are_told_and_the_mode_has_its_own_name(chat: Chat) -> None:
    people = ("--with", "Mara", "--with", "Hope Tarn", "--mode", "quiz", "--title", "Quiz")
    said = chat.run(*people, lines="@Mara +1\n")
    assert said == "* [Scores: Mara Venn 1]\n"
    assert "The mode is quiz." in chat.told
    assert "The mode is quiz." in chat.run("--conversation", "Quiz", lines="/who\n")
    chat.run("--with", "Mara", "--with", "Hope Tarn", "--mode", "werewolf", "--title", "Night", lines="Well?\n")
    shown = chat.room.run("history", "show", "Coast", "Night")
    assert "the mode (to Mara Venn only): [You are a" in shown
    assert "you (to" not in shown


def test_branch_names_the_number_that_leads_back(chat: Chat) -> None:
    chat.run("--with", "Mara", lines="One.\nTwo.\n/branch 2\n/branch 4\n")
    assert "What there was is kept: /undo, or /branch 4" in chat.told
    assert "What there was is kept: /undo, or /branch 2" in chat.told


def test_the_help_of_a_chat_is_in_chinese_throughout(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    said = chat.run("--with", "Mara", lines="/help\n")
    assert not re.search(r"[A-Z]{2,}", said), said


def test_the_list_of_participants_shows_players_and_cards(chat: Chat) -> None:
    chat.run("--with", "Mara", lines="Well?\n")
    chat.room.run("participant", "add", "Coast", "Bo")
    chat.room.run("participant", "card", "Coast", "Bo", "--first-message", "Hm.")
    rows = {line.split()[1]: line for line in chat.room.run("participant", "list", "Coast").splitlines()[1:]}
    assert rows["Writer"].rstrip().endswith("player")
    assert rows["Bo"].rstrip().endswith("character card")


def write_card(chat: Chat, **fields: str) -> None:
    """A participant Bo with these parts of a card."""
    chat.room.run("participant", "add", "Coast", "Bo")
    options = [word for name, text in fields.items() for word in (f"--{name.replace('_', '-')}", text)]
    chat.room.run("participant", "card", "Coast", "Bo", *options)


def test_a_macro_that_means_nothing_is_told_once_in_a_chat(chat: Chat) -> None:
    write_card(chat, description="{{char}} hums {{foo}}.", first_message="{{bar}} or {{foo}}?")
    chat.server.script = lambda exchange: openai_answer("Hm.")(exchange)
    chat.run("--with", "Bo", lines="One.\nTwo {{foo}} and {{baz}}.\n{{baz}}\n")
    told = "{{foo}} means nothing here and stands in the prompt as it is written."
    assert chat.told.count(told) == 1
    assert chat.told.count("{{foo}}") == 1
    assert chat.told.count("{{baz}} is said as it is written: macros in messages are not filled in.") == 1
    chat.run("--with", "Bo", "--greeting", "Bo", lines="One.\n")
    assert "{{bar}}, {{foo}} means nothing here" in chat.told
    assert chat.told.count("{{foo}}") == 1
    chat.run("--with", "Bo", lines="One.\nYes.\n.\n", at=("--provider", "clipboard"))
    assert chat.told.count(told) == 1
    notices = [one["text"] for one in chat.events("--with", "Bo", lines="One.\nTwo.\n") if one["event"] == "notice"]
    assert len(notices) == 1
    assert notices[0].startswith("{{foo}} means nothing here")
    chat.run("--with", "Bo", "--as", "Hope Tarn", lines="One.\n")
    assert "{{foo}}" not in chat.told  # what stands in the cards of others is theirs


def test_a_prompt_to_be_pasted_says_for_whom_it_is_and_who_says_what(chat: Chat) -> None:
    lines = "Well?\nIt was the sea.\n.\nReally?\nYes.\n.\n"
    said = chat.run("--with", "Mara", lines=lines, at=("--provider", "clipboard"))
    second = said.split("[A prompt for Mara Venn. Each part of it stands below its role.]\n")[2]
    assert second.startswith("\n[system]\n")
    assert "[user: Writer]\nWell?" in second
    assert "[assistant: Mara Venn]\nIt was the sea." in second
    assert second.index("It was the sea.") < second.index("Really?") < second.index("[Mara Venn speaks next.")
    people = ("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier")
    chat.run(
        *people, "--prompt", "prompt.txt", lines="@Mara well?\nMe.\n.\n@Hope and you?\n", at=("--provider", "clipboard")
    )
    prompt = (chat.room.folder / "prompt.txt").read_text()
    assert prompt.startswith("[A prompt for Hope Tarn.")
    assert "[assistant]\nMara Venn: Me." in prompt
    assert "[user]\nWriter: Mara well?" in prompt


def test_a_message_that_is_too_long_for_the_window_is_taken_back(chat: Chat) -> None:
    lines = "word " * 30_000 + "\n/undo\nWell?\n"
    at = ("--provider", "vllm", "--base-url", chat.server.url, "--model", "gpt-4")
    said = chat.run("--with", "Mara", "--title", "Pier", lines=lines, at=at, code=1)
    assert "CONTEXT_INPUT_TOO_LARGE" in chat.told
    assert "To take the message back and say it in shorter ones: /undo." in chat.told
    assert "--model NAME" in chat.told
    assert "To ask again" not in chat.told
    assert said == "Mara Venn: It was me.\n"
    assert "word" not in chat.room.run("history", "show", "Coast", "Pier")


def test_how_to_go_on_is_told_of_a_conversation_that_is_kept(chat: Chat) -> None:
    chat.run("--with", "Mara", lines="/who\n")
    assert "This conversation is called Mara Venn." in chat.told
    assert "To go on later" not in chat.told
    chat.run("--with", "Mara", lines="Well?\n")
    assert chat.told.endswith('To go on later: fabula chat Coast --conversation "Mara Venn"\n')


def test_undo_says_what_it_takes_back_and_nothing_that_was_changed_elsewhere(chat: Chat) -> None:
    lines = "Well?\nYes?\n/branch 2\n/undo\n/join Hope Tarn\n/undo\n/join Hope Tarn\n/leave Hope Tarn\n/undo\n"
    chat.run("--with", "Mara", "--title", "Pier", lines=lines)
    taken_back = re.findall(r"Taken back: (.+)", chat.told)
    assert taken_back == ["going on from message 2", "Hope Tarn joined", "Hope Tarn left"]


def test_undo_takes_back_what_a_reply_went_on_with(chat: Chat) -> None:
    lines = "Well?\n/edit 2 It was us.\n/more\n/undo\n/undo\n/more\n/more\n/undo\n"
    chat.run("--with", "Mara", "--title", "Pier", lines=lines)
    taken_back = re.findall(r"Taken back: (.+)", chat.told)
    added = "what was added to message 2"
    assert taken_back == [added, "the correction of message 2", added]
    shown = chat.room.run("history", "show", "Coast", "Pier").splitlines()
    assert shown[:2] == ["1. Writer: Well?", "2. Mara Venn: It was me. It was me."]
    write_card(chat, first_message="The lamp is out.")
    lines = "/more\nWell, of course.\n.\n/undo\n"
    chat.run("--with", "Bo", "--greeting", "Bo", "--title", "Quay", lines=lines, at=("--provider", "clipboard"))
    assert "Taken back: what was added to message 1" in chat.told
    assert "1. Bo: The lamp is out.\n" in chat.room.run("history", "show", "Coast", "Quay")


def test_whoever_speaks_as_somebody_takes_back_and_corrects_what_they_heard(chat: Chat) -> None:
    both = ("--with", "Mara", "--with", "Will Tarn", "--title", "Pier")
    chat.run(*both, lines="@Mara one?\n/leave Will Tarn\n@Mara two?\n/join Hope Tarn\n/quit\n")
    as_hope = ("--conversation", "Pier", "--as", "Hope Tarn")
    said = chat.run(*as_hope, lines="/undo\n/edit Gone.\n/who\n", code=1)
    assert "There is nothing here that could be taken back." in chat.told
    assert "Hope Tarn heard no message 'last'." in chat.told
    assert "Will Tarn" not in said
    assert "Will Tarn" in chat.run("--conversation", "Pier", lines="/who\n")
    event = chat.events(*as_hope, lines="/who\n")[-1]["conversation"]
    assert {one["name"] for one in event["presence"]} == {"Hope Tarn", "Mara Venn", "Writer"}
    assert len(event["convKey"].split("|")) == 3
    assert event["opening"] == ""
    chat.run(*as_hope, lines="@Mara three?\n")
    chat.room.run("history", "record", "Coast", "Pier", "A secret.", "--as", "Writer", "--to", "Mara")
    said = chat.run(*as_hope, lines="/edit It was nobody.\n/undo\n/undo\n", code=1)
    assert "secret" not in said + chat.told
    assert "6. Mara Venn: It was nobody." in said
    assert "Taken back: the correction of message 6" in chat.told
    assert "There is nothing here that could be taken back." in chat.told
    assert "A secret." in chat.room.run("history", "show", "Coast", "Pier")


def test_branch_lists_whispers_for_whoever_leads_and_in_json_by_an_event_of_its_own(chat: Chat) -> None:
    chat.run("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier", lines="@Mara well?\n/swipe\n")
    chat.room.run("history", "record", "Coast", "Pier", "A secret.", "--as", "Mara", "--to", "Hope Tarn")
    assert "4. Mara Venn (to Hope Tarn only): A secret." in chat.run("--conversation", "Pier", lines="/branch\n")
    events = chat.events("--conversation", "Pier", lines="/branch\n")
    listed = [(one["message"]["number"], one["isActive"]) for one in events if one["event"] == "listed"]
    assert listed == [(0, True), (1, False), (2, True), (3, True)]
    assert not [one for one in events if one["event"] == "message"]
    chat.room.run("history", "record", "Coast", "Pier", "Another.", "--as", "Mara", "--to", "Writer")
    said = chat.run("--conversation", "Pier", "--as", "Hope Tarn", lines="/branch\n")
    assert "A secret." in said
    assert "Another." not in said


def test_no_model_speaks_as_the_person(chat: Chat) -> None:
    both = ("--with", "Mara", "--with", "Hope Tarn", "--title", "Pier")
    chat.run(*both, lines="@Mara well?\n/again Writer\n", code=1)
    assert "You speak as Writer, so no model does. Say it yourself, or ask somebody else: /again NAME" in chat.told
    chat.room.run("participant", "add", "Coast", "Ann", "--kind", "player")
    chat.run("--conversation", "Pier", lines="/join Ann\n/again Ann\n", code=1)
    assert "Ann is a person, and speaks without a model. Ask somebody else. Nothing was changed." in chat.told
    chat.run("--conversation", "Pier", "--as", "Hope Tarn", lines="/again Hope Tarn\n", code=1)
    assert "You speak as Hope Tarn, so no model does." in chat.told
    assert len(chat.room.run("history", "show", "Coast", "Pier").splitlines()) == 2


def test_undo_leaves_a_change_from_elsewhere_alone(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabula.cli.chat.session import ChatSession

    note_change = ChatSession.note_change

    def change_elsewhere(self: ChatSession, label: Any) -> None:
        note_change(self, label)
        self.project.participants.add(f"Iris Vale {self.id}")

    monkeypatch.setattr(ChatSession, "note_change", change_elsewhere)
    chat.run("--with", "Mara", "--title", "Pier", lines="Well?\n/edit 2 Nobody.\n/undo\n", code=1)
    assert "Something else was changed since:" in chat.told
    assert "Iris Vale" in chat.room.run("participant", "list", "Coast")
    assert "2. Mara Venn: Nobody." in chat.room.run("history", "show", "Coast", "Pier")
    as_hope = ("--with", "Mara", "--as", "Hope Tarn", "--title", "Quay")
    chat.run(*as_hope, lines="Well?\n/edit 2 Nobody.\n/undo\n", code=1)
    assert "There is nothing here that could be taken back." in chat.told, "as where there is nothing"
    assert "Something else was changed" not in chat.told


def test_undo_says_where_a_change_was_taken_back_elsewhere(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabula.cli.chat.session import ChatSession

    note_change = ChatSession.note_change

    def undo_elsewhere(self: ChatSession, label: Any) -> None:
        note_change(self, label)
        self.project.changes.undo()

    monkeypatch.setattr(ChatSession, "note_change", undo_elsewhere)
    chat.run("--with", "Mara", "--title", "Pier", lines="Well?\n/edit 2 Nobody.\n/undo\n/undo\n", code=1)
    assert "That was taken back elsewhere already: the correction of message 2." in chat.told
    assert "Something else was changed" not in chat.told
    assert "Taken back from message 1 on: Well?" in chat.told


def test_a_line_that_the_mode_lets_nobody_answer_says_whom_one_can_ask(chat: Chat) -> None:
    both = ("--with", "Mara", "--with", "Hope Tarn", "--mode", "group", "--role", "choice=hand")
    assert chat.run(*both, lines="Well?\n/again Mara\n") == "Mara Venn: It was me.\n"
    hint = "The mode group asks nobody to answer this. To ask somebody: /again NAME"
    assert chat.told.count(hint) == 1
    chat.run("--with", "Mara", "--with", "Hope Tarn", "--mode", "quiz", lines="@Mara +1\nWho?\n@Zed?\n")
    assert "asks nobody" not in chat.told


def test_a_swipe_among_one_reply_says_how_to_get_another(chat: Chat) -> None:
    chat.run("--with", "Mara", lines="Well?\n/swipe 7\n", code=1)
    assert "There is only one reply here. To have it given again: /swipe" in chat.told


def test_recaps_are_not_promised_where_no_model_can_make_them(chat: Chat) -> None:
    chat.run("--with", "Mara", "--title", "Pier", lines="Well?\n" * 6 + "/recap\n")
    assert "A model writes recaps, and none works in the background" in chat.told
    assert "1 job waits for a model, as recaps do" in chat.told
    assert "fabula jobs run" not in chat.told
    said = chat.room.run("recap", "rebuild", "Coast", "Pier")
    assert "The recaps are queued, and wait for a model." in said
    assert "fabula jobs run" not in said + chat.room.aside


def test_a_workflow_without_roles_says_that_nothing_was_changed(chat: Chat) -> None:
    told = chat.run("--with", "Mara", "--mode", "workflow", lines="Well?\n", code=2)
    assert told.rstrip().endswith("Nothing was changed.")
    assert "stored" not in told


def test_whoever_speaks_as_somebody_gets_no_secret_as_json_or_in_a_file(chat: Chat) -> None:
    people = ("--with", "Mara", "--with", "Hope Tarn", "--with", "Will Tarn", "--title", "Night")
    chat.server.script = lambda exchange: openai_answer("QQWW.")(exchange)
    chat.run(*people, "--mode", "werewolf", lines="/whisper Mara The XYZZYX is yours.\n")
    chat.server.script = lambda exchange: openai_answer("Yes.")(exchange)
    lines = "/who\nWell?\n/whisper Will Tarn Psst.\n/branch\n/recap\n/why Well\n/save\n/save all.fabula\n/undo\n"
    events = chat.events("--conversation", "Night", "--as", "Hope Tarn", lines=lines, code=1)
    printed = json.dumps(events)
    said = [one["message"] for one in events if "message" in one]
    assert len(said) > 8
    assert all("Hope Tarn" in (*one.get("audienceNames", ["Hope Tarn"]), one["name"]) for one in said)
    assert "XYZZYX" not in printed
    assert "QQWW" not in printed
    assert [one["modeState"] for one in events if one["event"] == "end"] == [{}, {}]
    refused = [one["error"] for one in events if one["event"] == "refusal"]
    assert [one["code"] for one in refused] == ["CONTEXT_REQUEST_INVALID"] * 2
    assert all("so it is not saved while you speak as Hope Tarn" in one["message"] for one in refused)
    assert not list(chat.room.folder.glob("*.fabula"))
    told = chat.run("--conversation", "Night", "--as", "Hope Tarn", "--json", at=("--provider", "clipboard"), code=2)
    assert "without a model it would print the prompts of others" in told
    everything = json.dumps(chat.events("--conversation", "Night", lines="/who\n"))
    assert "werewolf" in everything.replace('"mode": "werewolf"', "")


def test_a_whisper_among_others_is_no_event_for_whoever_speaks_as_somebody(chat: Chat) -> None:
    """A game master lets others speak among themselves; somebody else learns only that they do."""
    from fabula.conversation.modes import Mode, Step, Turn
    from fabula.workspace.chat.modes import ChatModes

    class Night(Mode):
        def route(self, turn: Turn) -> Step:
            return Step(speakers=turn.ids[:1], audience=turn.ids[:1])

    room = chat.room
    people = ("--with", "Hope Tarn", "--with", "Mara", "--with", "Will Tarn", "--title", "Night")
    chat.run(*people, lines="Good evening.\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChatModes, "load", lambda self, name: Night())
        patch.setattr(ChatModes, "find_name", lambda self, name: name)
        events = chat.events("--conversation", "Night", "--as", "Will Tarn", lines="Well?\n")
    assert [one["event"] for one in events] == ["conversation", "message", "start", "notice", "end"]
    assert events[3]["text"] == f"({events[2]['name']} whispers to somebody else.)"
    assert "to " in room.run("history", "show", "Coast", "Night")
