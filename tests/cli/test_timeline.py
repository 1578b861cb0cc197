"""The timeline as a picture in the terminal."""

from __future__ import annotations

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]


def test_the_picture_shows_who_appears_where_and_who_knows_the_secrets(room: Room) -> None:
    said = room.run("timeline", "Coast")
    people, changes, secrets = (part.splitlines() for part in said.split("\n\n")[:3])
    assert people[-6:] != []
    assert any(line.startswith("Who appears where") and "  1  2  3  4  5  6  7  mentions" in line for line in people)
    hope = next(line for line in people if line.startswith("Hope Tarn"))
    assert hope.split()[2:-1] == ["·", "·", "▆", "·", "·", "·", "▃"]
    assert any(line.startswith("Harrow Light") and "·  ·  ·  ◆──" in line for line in changes)
    knower = next(line for line in secrets if line.startswith("  Hope Tarn"))
    assert knower.endswith("from chapter 3, What the Landing Knew")


def test_the_timeline_as_json_counts_mentions(room: Room) -> None:
    found = room.read("timeline", "Coast")
    assert [one["number"] for one in found["documents"]] == [1, 2, 3, 4, 5, 6, 7]
    assert {one["type"] for one in found["appearances"]} == {"character"}
    assert all(one["total"] == sum(one["counts"]) for one in found["appearances"])
    secret = next(one for one in found["facts"] if one["isSecret"] and one["name"] == "Hope Tarn")
    assert secret["since"]["document"] == "ch-03"
    assert [one["name"] for one in secret["knowers"]] == ["Hope Tarn"]


def test_a_type_or_names_choose_the_rows(room: Room) -> None:
    assert {one["type"] for one in room.read("timeline", "Coast", "--type", "location")["appearances"]} == {"location"}
    assert [one["name"] for one in room.read("timeline", "Coast", "Mara")["appearances"]] == ["Mara Venn"]
    assert "Did you mean Mara" in room.run("timeline", "Coast", "Marra", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("timeline", "Coast", "--type", "places", code=2)


def test_an_empty_project_has_nothing_to_draw(room: Room) -> None:
    room.run("new", "Bare")
    assert room.run("timeline", "Bare") == "No chapters yet.\n"
    (room.folder / "tide.md").write_text("# The Tide\n\n## One\n\nShe came down to the water.\n", "utf-8")
    room.run("import", "tide.md")
    assert 'fabula extract "The Tide"' in room.run("timeline", "The Tide")


@pytest.mark.parametrize("count", [30, 300])
def test_many_chapters_share_columns(room: Room, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.cli.timeline._PIPE_WIDTH", 100)
    chapters = "".join(f"## Chapter {number}\n\nAda went out.\n\n" for number in range(count))
    (room.folder / "long.md").write_text(f"# Long\n\n{chapters}", "utf-8")
    room.run("import", "long.md")
    room.run("codex", "add", "Long", "Ada", "--type", "character")
    row = next(line for line in room.run("timeline", "Long").splitlines() if line.startswith("Ada"))
    assert len(row) <= 100
    assert row.endswith(f" {count}")
