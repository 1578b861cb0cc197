"""Writing from the command line, against a server that speaks as models do, and with the clipboard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.cli.test_codex import Room, room
from tests.llm.server import Exchange, Server, chunk, fails, openai_says, serving

__all__ = ["room"]


@pytest.fixture
def model_server() -> Iterator[Server]:
    with serving() as running:
        yield running


def at(server: Server) -> tuple[str, ...]:
    return ("--provider", "vllm", "--base-url", server.url, "--model", "gpt-4o-mini")


def test_the_text_streams_and_the_run_can_be_listed_accepted_and_paid_for(room: Room, model_server: Server) -> None:
    usage = {"prompt_tokens": 3000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 2000}}
    model_server.script = openai_says("The lamp ", "went out.", usage=usage)
    said = room.run("write", "Coast", *at(model_server))
    assert "The lamp went out." in said
    assert "3,000 tokens read (2,000 from the cache), 5 written; 0.0003 USD" in room.aside
    run = room.read("runs", "Coast")[0]
    assert (run["answer"], run["outcome"]) == ("The lamp went out.", "open")
    assert run["id"][:8] in room.run("runs", "Coast")
    assert "revision" in room.run("accept", "Coast", run["id"][:8])
    assert room.read("runs", "Coast")[0]["outcome"] == "accepted"
    assert "STORE_CONFLICT" in room.run("reject", "Coast", run["id"], code=2)
    assert "67% cached" in room.run("cost", "Coast")
    assert room.read("cost", "Coast", "--by", "skill")["spent"][0]["name"] == "continue"
    assert "Nothing was spent." in room.run("cost", "Coast", "--month", "1999-01")


def test_an_answer_may_be_edited_rejected_or_taken_at_once(room: Room, model_server: Server) -> None:
    model_server.script = openai_says("Too much!")
    room.run("write", "Coast", *at(model_server))
    (room.folder / "mine.txt").write_text("Less.", "utf-8")
    room.run("accept", "Coast", room.read("runs", "Coast")[0]["id"], "--edited", "mine.txt")
    assert room.read("runs", "Coast")[0]["outcome"] == "edited"
    room.run("write", "Coast", *at(model_server))
    assert "Rejected." in room.run("reject", "Coast", room.read("runs", "Coast")[0]["id"])
    room.run("write", "Coast", *at(model_server), "--accept")
    assert "Accepted into" in room.aside


def test_several_variants_come_one_after_the_other(room: Room, model_server: Server) -> None:
    said = room.run("write", "Coast", *at(model_server), "--variants", "2")
    assert "[1]" in said
    assert "[2]" in said
    assert len(room.read("runs", "Coast")) == 2


def test_a_failure_is_one_line_with_its_code(room: Room, model_server: Server) -> None:
    model_server.script = fails(401)
    assert "LLM_REFUSED" in room.run("write", "Coast", *at(model_server), code=2)
    assert "LLM_ADDRESS_REFUSED" in room.run("write", "Coast", "--base-url", "http://169.254.169.254/v1", code=2)
    assert "SETTING_INVALID" in room.run("write", "Coast", "--provider", "nobody", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("write", "Coast", *at(model_server), "--selection", "9-2", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("write", "Coast", *at(model_server), "--judge", "harsh", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("write", "sample:wugang", *at(model_server), "--accept", code=2)
    assert "STORE_NOT_FOUND" in room.run("accept", "Coast", "nothing", code=2)


def test_what_the_judge_finds_is_said(room: Room, model_server: Server) -> None:
    room.run("constraint", "add", "Coast", 'Never use the word "unicorn".')
    model_server.script = openai_says("A unicorn stood there.")
    room.run("write", "Coast", *at(model_server))
    assert "! “unicorn”" in room.aside
    room.run("write", "Coast", *at(model_server), "--judge", "off")
    assert "! “unicorn”" not in room.aside


def test_the_clipboard_hands_over_the_prompt_of_a_sample(room: Room) -> None:
    said = room.run("write", "sample:lantern_coast", "--provider", "clipboard", "--window", "4096")
    assert "Continue the text from exactly where it stops" in said
    assert "Nothing was sent" in room.aside


def test_skills_of_one_s_own_are_listed_and_used(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    (room.folder / "mine").mkdir()
    (room.folder / "mine" / "sing.toml").write_text('[template]\nen = "Sing it, {{ title }}."', "utf-8")
    (room.folder / "mine" / "bad.toml").write_text("answer =", "utf-8")
    monkeypatch.setenv("FABULA_SKILLS", str(room.folder / "mine"))
    listed = room.run("skills")
    assert "sing" in listed
    assert "'bad' is left out: line 1" in room.aside
    said = room.run("write", "sample:lantern_coast", "--provider", "clipboard", "--skill", "sing", "--window", "4096")
    assert "Sing it, " in said


def test_control_c_keeps_what_came(room: Room, model_server: Server) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head()
        while True:
            await exchange.event(chunk("word "))

    model_server.script = script
    command = [sys.executable, "-m", "fabula.cli.main", "write", "Coast", *at(model_server)]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=room.folder, env={**os.environ}
    )
    assert running.stdout is not None
    assert running.stdout.read(10) == "word word "
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "what came is kept" in told
    for _ in range(100):
        if (kept := room.read("runs", "Coast")) and kept[0]["outcome"] == "stopped":
            break
        time.sleep(0.1)
    assert kept[0]["answer"].startswith("word word ")
