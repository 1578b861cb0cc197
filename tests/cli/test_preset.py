"""Presets as a person keeps, looks at and uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.manuscript import projects
from fabula.memory import edits as memory
from fabula.store.store import LOCAL_USER, Store
from tests.cli.test_projects import Desk

NODES = [
    {"id": "brief", "content": "Be brief."},
    {"type": "chat_history", "role": "user"},
    {
        "id": "rare",
        "content": "Only with dragons.",
        "injectionStrategy": {"depth": 1},
        "condition": {"keywords": ["dragon"]},
    },
    {"type": "placeholder", "id": "mood"},
]


@pytest.fixture
def desk(tmp_path: Path, prepared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk with a project and a preset in a file, for each engine."""
    made = Desk(tmp_path, prepared, monkeypatch, capsys)
    (tmp_path / "coast.md").write_text("# Coast\n\n## One\n\nThe tide went out, and nobody saw it go.\n")
    made.run("import", "coast.md")
    (tmp_path / "mine.json").write_text(json.dumps({"nodes": NODES}))
    return made


def test_a_preset_is_kept_listed_used_and_taken_away(desk: Desk) -> None:
    assert "No presets yet" in desk.run("preset", "list", "Coast")
    assert "Mine is stored" in desk.run("preset", "set", "Coast", "Mine", "mine.json")
    (kept,) = json.loads(desk.run("preset", "list", "Coast", "--json"))
    assert (kept["title"], kept["active"], kept["nodes"]) == ("Mine", False, 4)
    assert "Be brief." not in desk.run("assemble", "Coast", "--quiet")
    assert "Mine is active" in desk.run("preset", "use", "Coast", "Mine")
    assert "● " in desk.run("preset", "list", "Coast")
    assert "Be brief." in desk.run("assemble", "Coast", "--quiet")
    desk.run("preset", "set", "Coast", "Mine", "mine.json")
    assert [(one["id"], one["active"]) for one in json.loads(desk.run("preset", "list", "Coast", "--json"))] == [
        (kept["id"], True)
    ]
    assert "No preset is active" in desk.run("preset", "use", "Coast", "-")
    assert "Mine is gone" in desk.run("preset", "remove", "Coast", kept["id"])
    assert json.loads(desk.run("preset", "list", "Coast", "--json")) == []


def test_the_nodes_of_a_preset_come_out_as_they_are_kept(desk: Desk) -> None:
    assert json.loads(desk.run("preset", "get", "Coast")) == {"nodes": []}
    desk.run("preset", "set", "Coast", "Mine", "mine.json", "--active")
    (desk.folder / "again.json").write_text(desk.run("preset", "get", "Coast"))
    desk.run("preset", "set", "Coast", "Twin", "again.json")
    twin = json.loads(desk.run("preset", "get", "Coast", "Twin"))
    assert twin == json.loads(desk.run("preset", "get", "Coast", "Mine"))
    assert twin["nodes"][2]["condition"]["keywords"] == ["dragon"]


def test_the_picture_shows_where_each_message_lands(desk: Desk) -> None:
    desk.run("preset", "set", "Coast", "Mine", "mine.json", "--active")
    said = desk.run("preset", "show", "Coast", "Mine")
    order = [said.index(words) for words in ("identity", "rules", "retrieved", "immediate", "chat_history", "depth 1")]
    assert order == sorted(order)
    assert "if: mentions dragon" in said
    shown = json.loads(desk.run("preset", "show", "Coast", "--json", "--recipe", "chat"))
    assert (shown["title"], shown["recipe"]) == ("Mine", "chat")
    assert {"kind": "message", "name": "rare", "depth": 1}.items() <= next(
        row for row in shown["rows"] if row["name"] == "rare"
    ).items()
    assert "CONTEXT_RECIPE_UNKNOWN" in desk.run("preset", "show", "Coast", "Mine", "--recipe", "opera", code=2)


def test_without_a_preset_the_picture_is_that_of_the_recipe(desk: Desk) -> None:
    assert "No preset is active" in desk.run("preset", "show", "Coast")


def test_anchors_are_listed_with_new_ones_at_once(desk: Desk) -> None:
    built_in = json.loads(desk.run("preset", "anchors", "Coast", "--json"))
    assert built_in[0] == "chat_history"
    desk.run("preset", "set", "Coast", "Mine", "mine.json", "--active")
    assert json.loads(desk.run("preset", "anchors", "Coast", "--json")) == [*built_in, "mood"]
    assert desk.run("preset", "anchors", "Coast", "Mine").split() == [*built_in, "mood"]


def test_a_condition_decides_and_the_reason_is_told(desk: Desk) -> None:
    desk.run("preset", "set", "Coast", "Mine", "mine.json", "--active")
    assert "Only with dragons." not in desk.run("assemble", "Coast", "--quiet")
    assert "CONDITION_UNMET" in desk.run("why", "preset:rare", "Coast")
    assert "Only with dragons." in desk.run("assemble", "Coast", "--quiet", "--input", "Bring in the dragon.")


def test_what_a_person_says_of_themselves_is_in_every_prompt_and_in_the_picture(desk: Desk) -> None:
    store = Store.open(desk.store)
    with store.write(project=projects.find_project(store, "Coast").id, user=LOCAL_USER) as tx:
        memory.write_profile(tx, "I write for sailors.")
    store.close()
    assert "I write for sailors." in desk.run("assemble", "Coast", "--quiet")
    assert "I write for sailors." in desk.run("preset", "show", "Coast")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("[", "PRESET_INVALID"),
        ('{"nodes": 3}', "PRESET_INVALID"),
        ('[{"content": "x", "condition": {"pattern": "(a+"}}]', "PRESET_INVALID"),
        ('[{"type": "placeholder", "id": "settings"}, {"type": "placeholder", "id": "rules"}]', "PRESET_LAYER_ORDER"),
    ],
)
def test_a_file_that_is_no_preset_is_refused_in_one_line(desk: Desk, content: str, code: str) -> None:
    (desk.folder / "odd.json").write_text(content)
    said = desk.run("preset", "set", "Coast", "Odd", "odd.json", code=2)
    assert said.startswith(f"{code}: ")
    assert said.count("\n") == 1
    assert json.loads(desk.run("preset", "list", "Coast", "--json")) == []


def test_a_name_nobody_has_is_answered_with_those_there_are(desk: Desk) -> None:
    desk.run("preset", "set", "Coast", "Mine", "mine.json")
    assert "There are: Mine" in desk.run("preset", "show", "Coast", "Yours", code=2)
    assert "FILE_NOT_FOUND" in desk.run("preset", "set", "Coast", "Mine", "nothing.json", code=2)
