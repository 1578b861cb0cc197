"""Writing from the command line, against a server that speaks as models do, and with the clipboard."""

from __future__ import annotations

import base64
import json
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

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


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
    shown = room.run("runs", "Coast", run["id"][:8])
    assert "Saw " in shown
    assert "constraint:" in shown
    assert shown.rstrip().endswith("The lamp went out.")
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
    assert "Accepted; the document is at revision" in room.aside


def test_another_answer_takes_the_place_of_the_one_before(room: Room, model_server: Server) -> None:
    room.run("write", "Coast", *at(model_server), "--input", "Slower.", "--cursor", "40")
    first = room.read("runs", "Coast")[0]
    room.run("write", "Coast", *at(model_server), "--again", first["id"][:8])
    second, left = room.read("runs", "Coast")
    assert (left["id"], left["outcome"], second["outcome"]) == (first["id"], "retried", "open")
    assert second["saw"]["place"]["cursor"] == 40
    assert "Slower." in str(model_server.seen[1].asked["messages"][-1]["content"])
    assert "STORE_NOT_FOUND" in room.run("write", "Coast", *at(model_server), "--again", "nothing", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("write", "sample:wugang", *at(model_server), "--again", "x", code=2)


def test_entries_that_were_found_are_named(room: Room, model_server: Server) -> None:
    row = {"type": "item", "name": "wick key", "aliases": [], "description": "Puts the lamp out."}
    model_server.script = openai_says(json.dumps({"entries": [row]}))
    room.run("write", "Coast", *at(model_server), "--skill", "extract", "--document", "ch-01")
    said = room.run("accept", "Coast", room.read("runs", "Coast")[0]["id"])
    assert "Accepted: wick key." in said


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


def test_what_was_just_taken_and_left_is_known_to_the_next_request(room: Room, model_server: Server) -> None:
    model_server.script = openai_says("The kettle sang its one thin note.")
    room.run("write", "Coast", *at(model_server))
    room.run("reject", "Coast", room.read("runs", "Coast")[0]["id"])
    room.run("write", "Coast", *at(model_server))
    assert "The kettle sang" in str(model_server.seen[1].asked["messages"])
    assert "The kettle sang" not in str(model_server.seen[0].asked["messages"])


def test_a_picture_goes_along_and_a_text_is_quoted(room: Room, model_server: Server) -> None:
    (room.folder / "map.png").write_bytes(PIXEL)
    (room.folder / "notes.txt").write_text("The north stair is bricked up.", "utf-8")
    room.run("write", "Coast", *at(model_server), "--attach", "map.png", "--attach", "notes.txt")
    sent = str(model_server.seen[0].asked["messages"])
    assert "data:image/png;base64," in sent
    assert "The north stair is bricked up." in sent
    (room.folder / "key").write_bytes(b"\x00\x01")
    refused = room.run("write", "Coast", *at(model_server), "--attach", "key", code=2)
    assert "LLM_ATTACHMENT_INVALID" in refused
    assert len(model_server.seen) == 1
