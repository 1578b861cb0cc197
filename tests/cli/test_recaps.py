"""Recaps from the command line, as a person asks for them."""

from __future__ import annotations

import re
from itertools import count

import pytest

from fabula.conversation import edits as service
from fabula.conversation.model import Message
from fabula.conversation.recaps.model import RecapInput, RecapRules
from fabula.conversation.recaps.update import refresh_recaps
from fabula.manuscript import projects
from fabula.store.store import Store
from tests.cli.test_codex import Room, room

__all__ = ["room"]


@pytest.fixture
def told(room: Room) -> Room:
    """A conversation of twenty rounds, told in short."""
    numbers = count(1)

    def digest(material: RecapInput) -> str:
        return f"Telling {next(numbers)}, which says what happened to everybody in these {len(material.lines)} lines."

    store = Store.open(room.folder / "data")
    project = projects.find_project(store, "Coast").id
    with store.write(project=project) as tx:
        for talk in ("talk", "other"):
            service.start_conversation(tx, talk)
        for number in range(20):
            service.add_message(tx, "talk", Message(id=f"q{number}", role="user", content=f"Ask {number}?"))
            service.add_message(tx, "talk", Message(id=f"a{number}", role="assistant", content=f"Answer {number}."))
    assert len(refresh_recaps(store, project, "talk", write_recap=digest, rules=RecapRules()).entries) == 6
    store.close()
    return room


def test_they_are_listed_with_their_rounds_and_whether_they_are_true(told: Room) -> None:
    found = told.read("recap", "list", "Coast", "talk")
    assert [(one["kind"], one["firstRound"], one["lastRound"]) for one in found] == [
        ("summary", 1, 5),
        ("summary", 6, 10),
        ("summary", 11, 15),
        ("summary", 16, 20),
        ("recap", 1, 10),
        ("recap", 11, 20),
    ]
    assert {(one["state"], one["origin"], one["version"]) for one in found} == {("fresh", "model", 1)}
    assert all(one["id"] and one["text"] and one["createdAt"] for one in found)
    lines = told.run("recap", "list", "Coast", "talk").splitlines()
    assert re.match(r" +6  recap +11-20 +fresh +by a model ", lines[-1])
    assert "There are no summaries or recaps yet." in told.run("recap", "list", "Coast", "other")
    assert "STORE_NOT_FOUND" in told.run("recap", "list", "Coast", "nowhere", code=2)


def test_one_is_edited_and_deleted(told: Room) -> None:
    recap = told.read("recap", "list", "Coast", "talk")[-1]["id"]
    assert "Rounds 11 to 20 are in your words" in told.run("recap", "edit", "Coast", "talk", recap, "Fog came.")
    made = told.read("recap", "edit", "Coast", "talk", recap, "-", "--version", "2", stdin="More fog came.\n")
    assert (made["text"], made["origin"], made["version"]) == ("More fog came.", "hand", 3)
    assert "STORE_CONFLICT" in told.run("recap", "edit", "Coast", "talk", recap, "x", "--version", "2", code=2)
    assert "TEXT_INVALID" in told.run("recap", "edit", "Coast", "talk", recap, " ", code=2)
    assert "STORE_NOT_FOUND" in told.run("recap", "edit", "Coast", "other", recap, "x", code=2)
    assert "STORE_CONFLICT" in told.run("recap", "delete", "Coast", "talk", recap, "--version", "2", code=2)
    assert told.run("recap", "delete", "Coast", "talk", recap) == f"{recap} is gone.\n"
    assert "STORE_NOT_FOUND" in told.run("recap", "delete", "Coast", "talk", recap, code=2)
    summary = told.read("recap", "list", "Coast", "talk")[0]["id"]
    assert told.read("recap", "delete", "Coast", "talk", summary) == {"deleted": summary}
    assert len(told.read("recap", "list", "Coast", "talk")) == 4


def test_they_are_put_in_another_order(told: Room) -> None:
    first, second = (one["id"] for one in told.read("recap", "list", "Coast", "talk") if one["kind"] == "recap")
    assert told.read("recap", "reorder", "Coast", "talk", second, first) == {"order": [second, first]}
    assert [one["id"] for one in told.read("recap", "list", "Coast", "talk")][-2:] == [second, first]
    assert "in this order" in told.run("recap", "reorder", "Coast", "talk", first, second)
    assert "CONTEXT_REQUEST_INVALID" in told.run("recap", "reorder", "Coast", "talk", first, code=2)


def test_all_are_asked_for_anew(told: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told.read("recap", "rebuild", "Coast", "talk") == {"job": "recap:talk:anew"}
    assert "and wait for a model" in told.run("recap", "rebuild", "Coast", "talk")
    models = told.folder / "models.toml"
    models.write_text(
        'background = "own"\n[places.own]\nbase_url = "http://127.0.0.1:9"\nneeds_key = false\nmodel = "gpt-4o"\n'
    )
    monkeypatch.setenv("FABULA_MODELS", str(models))
    assert "Do it now: fabula jobs run" in told.run("recap", "rebuild", "Coast", "talk")
    jobs = told.read("jobs", "list", "Coast", "--state", "queued")[0]["jobs"]
    assert [one["key"] for one in jobs if one["kind"] == "recap"] == ["recap:talk:anew"]
    assert "STORE_NOT_FOUND" in told.run("recap", "rebuild", "Coast", "nowhere", code=2)


def test_their_settings_are_shown_and_set(told: Room) -> None:
    assert told.read("recap", "settings", "Coast")["settings"] == {
        "History.Recaps": True,
        "History.SummaryEveryNRounds": 5,
        "History.RecapUpdateEveryRounds": 10,
        "History.RecapDictMaxEntries": 20,
        "History.RecapMaxChars": 1200,
        "History.SummaryOverMessages": 60,
        "History.SummaryOverTokens": 6000,
        "History.LatestRecaps": 3,
        "History.Budget.MaxLatencyMs": 5000,
    }
    told.run("setting", "set", "Coast", "History.Recaps", "false")
    told.run("setting", "set", "Coast", "budget.maxLatencyMs", "2500")
    told.run("setting", "set", "Coast", "history.recapMaxEntries", "0")
    shown = told.run("recap", "settings", "Coast")
    assert shown.splitlines()[1].split() == ["History.Recaps", "false"]
    assert shown.splitlines()[4].split() == ["History.RecapDictMaxEntries", "0"]
    assert shown.splitlines()[8].split() == ["History.Budget.MaxLatencyMs", "2500"]
    told.run("setting", "unset", "Coast", "history.recapMaxEntries")
    assert told.read("recap", "settings", "Coast")["settings"]["History.RecapDictMaxEntries"] == 20
    assert "SETTING_INVALID" in told.run("setting", "set", "Coast", "history.recaps", "perhaps", code=2)
    assert "SETTING_INVALID" in told.run("setting", "set", "--user", "jobs.monthlyBudget", "much", code=2)
