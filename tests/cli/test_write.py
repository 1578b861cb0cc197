"""Writing from the command line, against a server that speaks as models do, and with the clipboard."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.cli.processes import start_fabula
from tests.cli.test_codex import Room, room
from tests.jobs.fake_jobs import wait_until
from tests.llm.server import Exchange, ModelServer, Script, chunk, error_answer, openai_answer, run_server

__all__ = ["room"]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with run_server() as running:
        yield running


def at(server: ModelServer) -> tuple[str, ...]:
    return ("--provider", "vllm", "--base-url", server.url, "--model", "gpt-4o-mini")


def writing_without_end(room: Room, server: ModelServer) -> subprocess.Popen[str]:
    """A command in a process of its own, to which a model says one word again and again."""

    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        while True:
            await exchange.send_event(chunk("word "))

    server.script = script
    return start_fabula("write", "Coast", *at(server), folder=room.folder)


def test_the_text_streams_and_the_run_can_be_listed_accepted_and_paid_for(
    room: Room, model_server: ModelServer
) -> None:
    usage = {"prompt_tokens": 3000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 2000}}
    model_server.script = openai_answer("The lamp ", "went out.", usage=usage)
    said = room.run("write", "Coast", *at(model_server))
    assert "The lamp went out." in said
    assert "3,000 tokens read (2,000 from the cache), 5 written; 0.0003 USD" in room.aside
    run = room.read("runs", "Coast")[0]
    assert (run["answer"], run["outcome"]) == ("The lamp went out.", "open")
    assert run["id"] in room.run("runs", "Coast", "--ids")
    assert run["id"] not in room.run("runs", "Coast")
    shown = room.run("runs", "Coast", run["id"][:8])
    assert "Saw " in shown
    assert "Sources:" in shown
    assert shown.rstrip().endswith("The lamp went out.")
    assert "revision" in room.run("accept", "Coast", run["id"][:8])
    assert room.read("runs", "Coast")[0]["outcome"] == "accepted"
    assert "STORE_CONFLICT" in room.run("reject", "Coast", run["id"], code=2)
    assert " 67% " in room.run("cost", "Coast")
    spent = room.read("cost", "Coast", "--by", "skill")["spent"][0]
    assert (spent["name"], spent["inputTokens"]) == ("continue", 3000)
    assert "CONTEXT_REQUEST_INVALID" in room.run("cost", "Coast", "--month", "november", code=2)
    assert "Nothing was spent." in room.run("cost", "Coast", "--month", "1999-01")


def test_an_answer_may_be_edited_rejected_or_taken_at_once(room: Room, model_server: ModelServer) -> None:
    model_server.script = openai_answer("Too much!")
    room.run("write", "Coast", *at(model_server))
    (room.folder / "mine.txt").write_bytes(b"\xef\xbb\xbfLess.\r\n")
    run = room.read("runs", "Coast")[0]
    assert "FILE_NOT_FOUND" in room.run("accept", "Coast", run["id"], "--edited", "nowhere.txt", code=2)
    room.run("accept", "Coast", run["id"], "--edited", "mine.txt")
    assert room.read("runs", "Coast")[0]["outcome"] == "edited"
    room.run("export", "Coast", "out.md")
    assert (room.folder / "out.md").read_text("utf-8").rstrip().endswith("Less.")
    room.run("write", "Coast", *at(model_server))
    assert "Rejected." in room.run("reject", "Coast", "last")
    room.run("write", "Coast", *at(model_server), "--accept")
    assert "Accepted into Lantern Night, after “…gone, and came round. Less.”" in room.aside


def test_another_answer_takes_the_place_of_the_one_before(room: Room, model_server: ModelServer) -> None:
    room.run("write", "Coast", *at(model_server), "--input", "Slower.", "--cursor", "40")
    first = room.read("runs", "Coast")[0]
    room.run("write", "Coast", *at(model_server), "--again", first["id"][:8])
    second, left = room.read("runs", "Coast")
    assert (left["id"], left["outcome"], second["outcome"]) == (first["id"], "retried", "open")
    assert second["saw"]["place"]["cursor"] == 40
    assert "Slower." in str(model_server.exchanges[1].request["messages"][-1]["content"])
    room.run("write", "Coast", *at(model_server), "--again", second["id"], "--input", "Quicker.")
    assert "Quicker." in str(model_server.exchanges[2].request["messages"][-1]["content"])
    assert room.read("runs", "Coast")[0]["saw"]["place"]["cursor"] == 40
    assert "STORE_NOT_FOUND" in room.run("write", "Coast", *at(model_server), "--again", "nothing", code=2)
    assert "PROJECT_READ_ONLY" in room.run("write", "sample:wugang", *at(model_server), "--again", "x", code=2)


def test_entries_that_were_found_are_named(room: Room, model_server: ModelServer) -> None:
    row = {"type": "item", "name": "wick key", "aliases": [], "description": "Puts the lamp out."}
    model_server.script = openai_answer(json.dumps({"entries": [row]}))
    room.run("write", "Coast", *at(model_server), "--skill", "extract", "--document", "ch-01")
    said = room.run("accept", "Coast", room.read("runs", "Coast")[0]["id"])
    assert "Accepted: wick key." in said


def test_several_variants_come_one_after_the_other(room: Room, model_server: ModelServer) -> None:
    said = room.run("write", "Coast", *at(model_server), "--variants", "2")
    assert "[1]" in said
    assert "[2]" in said
    assert len(room.read("runs", "Coast")) == 2


def in_turn(server: ModelServer, *scripts: Script) -> None:
    """Answer one request after the other."""

    async def script(exchange: Exchange) -> None:
        await scripts[min(server.exchanges.index(exchange), len(scripts) - 1)](exchange)

    server.script = script


def test_a_variant_that_fails_is_told_and_what_came_of_it_is_shown(room: Room, model_server: ModelServer) -> None:
    async def half(exchange: Exchange) -> None:
        await exchange.send_head()
        await exchange.send_event(chunk("Half of"))

    in_turn(model_server, openai_answer("Whole."), half)
    said = room.run("write", "Coast", *at(model_server), "--variants", "2")
    assert "Whole." in said
    assert "Half of" in said
    assert "LLM_GONE" in room.aside
    refused = room.run("write", "Coast", *at(model_server), "--variants", "2", "--accept", code=2)
    assert "CONTEXT_REQUEST_INVALID" in refused


def test_what_is_sent_on_is_the_answer_alone_and_what_was_left_stands_aside(
    room: Room, model_server: ModelServer
) -> None:
    room.run("constraint", "add", "Coast", 'Never use the word "unicorn".')
    in_turn(model_server, openai_answer("A unicorn stood there."), openai_answer("A horse stood there."))
    said = room.run("write", "Coast", *at(model_server), "--judge", "regenerate")
    assert said == "A horse stood there.\n"
    assert "A unicorn stood there." in room.aside
    assert "Written anew:" in room.aside
    shown = room.run("runs", "Coast", room.read("runs", "Coast")[0]["id"])
    assert "Try 1, left:\nA unicorn stood there." in shown


def test_a_model_cannot_steer_the_terminal(room: Room, model_server: ModelServer) -> None:
    model_server.script = openai_answer("The \x1b[31mred\x1b]0;title\x07 lamp.")
    said = room.run("write", "Coast", *at(model_server))
    assert "\x1b" not in said + room.aside
    assert "\x1b" not in room.run("runs", "Coast")
    assert "\x1b" not in room.run("runs", "Coast", room.read("runs", "Coast")[0]["id"])


def test_the_model_that_is_asked_for_is_asked(room: Room, model_server: ModelServer) -> None:
    room.run("setting", "set", "Coast", "llm.model", "qwen3-8b")
    server = ("--provider", "vllm", "--base-url", model_server.url)
    room.run("write", "Coast", *server)
    room.run("write", "Coast", *server, "--model", "gpt-4o")
    assert [one.request["model"] for one in model_server.exchanges] == ["qwen3-8b", "gpt-4o"]


def test_what_was_spent_is_summed_by_currency(room: Room, model_server: ModelServer) -> None:
    usage = {"prompt_tokens": 3000, "completion_tokens": 1000}
    model_server.script = openai_answer("The lamp went out. " * 200, usage=usage)
    room.run(
        "setting", "set", "Coast", "llm.prices", '{"mine": {"input": 1, "output": 2, "currency": "EUR"}}', "--user"
    )
    room.run("write", "Coast", *at(model_server), "--judge", "off")
    room.run("write", "Coast", *at(model_server), "--judge", "off", "--model", "mine")
    found = room.read("cost", "Coast")
    assert found["total"] == {"EUR": 5000, "USD": 1050}
    assert [(one["name"], one["currency"]) for one in found["spent"]] == [
        ("vllm/mine", "EUR"),
        ("vllm/gpt-4o-mini", "USD"),
    ]
    assert "In all: 0.0050 EUR" in room.run("cost", "Coast")


def test_a_prompt_is_shown_where_it_was_kept(room: Room, model_server: ModelServer) -> None:
    room.run("write", "Coast", *at(model_server))
    run = room.read("runs", "Coast")[0]["id"]
    assert "runs.keepPrompts" in room.run("runs", "Coast", run, "--prompt", code=2)
    room.run("setting", "set", "--user", "runs.keepPrompts", "true")
    room.run("write", "Coast", *at(model_server))
    run = room.read("runs", "Coast")[0]["id"]
    assert "Continue the text from exactly where it stops" in room.run("runs", "Coast", run, "--prompt")


def test_a_reader_who_leaves_stops_the_writing_and_what_came_is_kept(room: Room, model_server: ModelServer) -> None:
    running = writing_without_end(room, model_server)
    assert running.stdout is not None
    assert running.stderr is not None
    assert running.stdout.read(10) == "word word "
    running.stdout.close()
    told = running.stderr.read()
    running.stderr.close()
    assert running.wait(60) == 1
    assert "Traceback" not in told
    assert "Exception ignored" not in told
    kept = room.read("runs", "Coast")[0]
    assert kept["outcome"] == "stopped"
    assert kept["answer"].startswith("word word ")


def test_a_failure_is_one_line_with_its_code(room: Room, model_server: ModelServer) -> None:
    model_server.script = error_answer(401)
    assert "LLM_REFUSED" in room.run("write", "Coast", *at(model_server), code=2)
    assert "LLM_ADDRESS_REFUSED" in room.run("write", "Coast", "--base-url", "http://169.254.169.254/v1", code=2)
    assert "SETTING_INVALID" in room.run("write", "Coast", "--provider", "nobody", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("write", "Coast", *at(model_server), "--selection", "9-2", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("write", "Coast", *at(model_server), "--judge", "harsh", code=2)
    assert "PROJECT_READ_ONLY" in room.run("write", "sample:wugang", *at(model_server), "--accept", code=2)
    assert "STORE_NOT_FOUND" in room.run("accept", "Coast", "nothing", code=2)


def test_what_the_judge_finds_is_said(room: Room, model_server: ModelServer) -> None:
    room.run("constraint", "add", "Coast", 'Never use the word "unicorn".')
    model_server.script = openai_answer("A unicorn stood there.")
    room.run("write", "Coast", *at(model_server))
    assert "! “unicorn”" in room.aside
    room.run("write", "Coast", *at(model_server), "--judge", "off")
    assert "! “unicorn”" not in room.aside


def test_the_judge_explains_in_the_language_that_the_person_chose(
    room: Room, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.run("setting", "set", "Coast", "judge.withModel", "true")
    model_server.script = openai_answer("The lamp went out.")
    room.run("write", "Coast", *at(model_server))
    assert "one sentence in English" in model_server.exchanges[-1].body.decode()
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    room.run("write", "Coast", *at(model_server))
    assert "one sentence in Chinese" in model_server.exchanges[-1].body.decode()
    assert "The model" not in room.aside


def test_the_clipboard_hands_over_the_prompt_of_a_sample(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(room.folder))
    said = room.run("write", "sample:lantern_coast", "--provider", "clipboard")
    assert "Continue the text from exactly where it stops" in said
    assert "Nothing was sent. There is no clipboard here" in room.aside


def test_the_clipboard_provider_touches_the_clipboard_where_one_is_there(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = room.folder / "xclip"
    program.write_text(f"#!/bin/sh\n/bin/cat > {room.folder}/copied.txt\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(room.folder))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    said = room.run("write", "Coast", "--provider", "clipboard")
    assert (room.folder / "copied.txt").read_text("utf-8") == said.removesuffix("\n")
    assert "the prompt is on the clipboard" in room.aside
    run = room.read("runs", "Coast")[0]
    assert (run["answer"], run["saw"]["ended"]) == ("", "copied")


def test_write_says_which_model_it_uses_and_why(room: Room) -> None:
    room.run("write", "Coast", "--provider", "clipboard")
    assert room.aside.startswith("clipboard/")
    assert " writes, because you asked for it.\n" in room.aside


def test_a_clipboard_run_counts_no_tokens(room: Room) -> None:
    room.run("write", "Coast", "--provider", "clipboard")
    usage = room.read("runs", "Coast")[0]["usage"]
    assert (usage["inputTokens"], usage["outputTokens"]) == (0, 0)
    assert room.read("cost", "Coast")["spent"][0]["outputTokens"] == 0


def test_an_answer_from_the_clipboard_is_checked_when_it_is_accepted(room: Room) -> None:
    room.run("constraint", "add", "Coast", "Never use the word 'kraken'.", "--id", "calm")
    room.run("write", "Coast", "--provider", "clipboard")
    (room.folder / "answer.txt").write_text("The kraken went out.\n", "utf-8")
    said = room.run("accept", "Coast", "last", "--edited", "answer.txt")
    assert "Accepted into" in said
    assert "“kraken”: “kraken” is not to be used. (constraint 13)" in room.aside
    findings = room.read("runs", "Coast")[0]["verdicts"][-1]["findings"]
    assert "calm" in [one["breaks"] for one in findings]


def test_what_another_program_made_of_a_prompt_is_taken_as_the_models(room: Room) -> None:
    room.run("write", "Coast", "--provider", "clipboard")
    run = room.read("runs", "Coast")[0]
    assert (run["answer"], run["prompt"], run["verdicts"]) == ("", None, [])
    assert "TEXT_INVALID" in room.run("accept", "Coast", run["id"], code=2)
    (room.folder / "answer.txt").write_text("The lamp went out.\n", "utf-8")
    assert "revision" in room.run("accept", "Coast", run["id"], "--edited", "answer.txt")
    assert room.read("runs", "Coast")[0]["outcome"] == "edited"


def test_skills_of_one_s_own_are_listed_and_used(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    (room.folder / "mine").mkdir()
    (room.folder / "mine" / "sing.toml").write_text('[template]\nen = "Sing it, {{ title }}."', "utf-8")
    (room.folder / "mine" / "bad.toml").write_text("answer =", "utf-8")
    monkeypatch.setenv("FABULA_SKILLS", str(room.folder / "mine"))
    listed = room.run("skills")
    assert "sing" in listed
    assert "'bad' is left out because of line 1" in room.aside
    said = room.run("write", "sample:lantern_coast", "--provider", "clipboard", "--skill", "sing", "--window", "4096")
    assert "Sing it, " in said


def test_control_c_keeps_what_came(room: Room, model_server: ModelServer) -> None:
    running = writing_without_end(room, model_server)
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


def test_accept_last_does_not_take_an_empty_stopped_run(room: Room, model_server: ModelServer) -> None:
    async def silent(exchange: Exchange) -> None:
        await exchange.send_head()
        await asyncio.sleep(60)

    assert "STORE_NOT_FOUND" in room.run("accept", "Coast", "last", code=2)
    in_turn(model_server, openai_answer("The lamp went out."), silent)
    room.run("write", "Coast", *at(model_server))
    running = start_fabula("write", "Coast", *at(model_server), folder=room.folder)
    wait_until(lambda: len(model_server.exchanges) == 2)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    stopped, written = room.read("runs", "Coast")
    assert (stopped["outcome"], stopped["answer"]) == ("stopped", "")
    assert "revision" in room.run("accept", "Coast", "last")
    assert [one["outcome"] for one in room.read("runs", "Coast")] == ["stopped", "accepted"]
    assert room.read("runs", "Coast", "last")[0]["id"] == stopped["id"]
    assert "TEXT_INVALID" in room.run("accept", "Coast", stopped["id"], code=2)
    assert written["answer"] == "The lamp went out."


def test_a_killed_write_leaves_a_record_of_having_begun(room: Room, model_server: ModelServer) -> None:
    running = writing_without_end(room, model_server)
    assert running.stdout is not None
    assert running.stdout.read(10) == "word word "
    (begun,) = room.read("runs", "Coast")
    assert (begun["outcome"], begun["model"], begun["answer"]) == ("begun", "vllm/gpt-4o-mini", "")
    running.kill()
    running.communicate(timeout=60)
    assert room.read("runs", "Coast") == [begun]
    assert "begun" in room.run("runs", "Coast")
    assert "STORE_NOT_FOUND" in room.run("accept", "Coast", "last", code=2)
    model_server.script = openai_answer("Whole.")
    room.run("write", "Coast", *at(model_server))
    assert [one["outcome"] for one in room.read("runs", "Coast")] == ["open", "begun"]


def test_the_cursor_stands_after_words_of_the_chapter(room: Room, model_server: ModelServer) -> None:
    room.run("write", "Coast", *at(model_server), "-d", "ch-03", "--cursor", "after 'said the sexton quickly'")
    cursor = room.read("runs", "Coast")[0]["saw"]["place"]["cursor"]
    room.run("export", "Coast", "out.txt")
    assert isinstance(cursor, int)
    refused = room.run("write", "Coast", *at(model_server), "--cursor", "after 'no such words'", code=2)
    assert "CONTEXT_REQUEST_INVALID" in refused
    assert len(model_server.exchanges) == 1


def test_control_c_between_variants_shows_what_came_of_each(room: Room, model_server: ModelServer) -> None:
    async def endless(exchange: Exchange) -> None:
        await exchange.send_head()
        while True:
            await exchange.send_event(chunk("word "))

    in_turn(model_server, openai_answer("Whole."), endless)
    words = ("write", "sample:lantern_coast", *at(model_server), "--variants", "2", "--judge", "off")
    running = start_fabula(*words, folder=room.folder)
    assert running.stdout is not None
    assert [running.stdout.readline()[0], running.stdout.readline()] == ["[", "Whole.\n"]
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "word word " in rest


def test_what_was_just_taken_and_left_is_known_to_the_next_request(room: Room, model_server: ModelServer) -> None:
    model_server.script = openai_answer("The kettle sang its one thin note.")
    room.run("write", "Coast", *at(model_server))
    room.run("reject", "Coast", room.read("runs", "Coast")[0]["id"])
    room.run("write", "Coast", *at(model_server))
    assert "The kettle sang" in str(model_server.exchanges[1].request["messages"])
    assert "The kettle sang" not in str(model_server.exchanges[0].request["messages"])


def test_a_picture_goes_along_and_a_text_is_quoted(room: Room, model_server: ModelServer) -> None:
    (room.folder / "map.png").write_bytes(PIXEL)
    (room.folder / "notes.txt").write_text("The north stair is bricked up.", "utf-8")
    room.run("write", "Coast", *at(model_server), "--attach", "map.png", "--attach", "notes.txt")
    sent = str(model_server.exchanges[0].request["messages"])
    assert "data:image/png;base64," in sent
    assert "The north stair is bricked up." in sent
    (room.folder / "key").write_bytes(b"\x00\x01")
    refused = room.run("write", "Coast", *at(model_server), "--attach", "key", code=2)
    assert "LLM_ATTACHMENT_INVALID" in refused
    assert len(model_server.exchanges) == 1


def test_what_was_asked_for_in_a_chapter_is_listed_shown_and_followed_on_from(
    room: Room, model_server: ModelServer
) -> None:
    model_server.script = openai_answer("Violet rain fell.")
    room.run("write", "Coast", *at(model_server), "--document", "The Weight", "--input", "A storm in violet.")
    assert "The Weight" in room.run("history", "list", "Coast")
    shown = room.run("history", "show", "Coast", "The Weight")
    assert "1. you: A storm in violet." in shown
    assert "2. model: Violet rain fell." in shown
    assert "message 2 in the conversation of The Weight" in room.run("runs", "Coast", "last")
    room.run("write", "Coast", *at(model_server), "--document", "The Weight", "--input", "Go on in that direction.")
    assert "A storm in violet." in model_server.exchanges[-1].body.decode()
    room.run("write", "Coast", *at(model_server), "--document", "The Weight", "--no-history")
    assert "A storm in violet." not in model_server.exchanges[-1].body.decode()
