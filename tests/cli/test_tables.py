"""Lists: numbered tables, which fit a terminal and stay plain in a pipe."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fabula.cli.output import format_time, quote_name
from fabula.cli.tables import Column, print_table
from tests.cli.test_codex import Room, room

__all__ = ["room"]


def run_in_terminal(*words: str, folder: Path, columns: int) -> str:
    """Run a command in a terminal of that width; return what it shows."""
    leader, follower = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    running = subprocess.Popen(
        [sys.executable, "-m", "fabula.cli.main", *words], stdout=follower, stderr=follower, cwd=folder, env=env
    )
    os.close(follower)
    shown = b""
    try:
        while block := os.read(leader, 65536):
            shown += block
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    assert running.wait(60) == 0
    return shown.decode()


@pytest.mark.parametrize("subject", ["codex", "constraint", "synopsis", "outline", "memory", "preset"])
def test_a_list_is_a_table_with_headers_and_numbers_instead_of_ids(room: Room, subject: str) -> None:
    head, *rows = room.run(subject, "list", "Coast").splitlines()
    assert head.split()[0] == "no."
    assert [int(row.split()[0]) for row in rows] == list(range(1, len(rows) + 1))
    assert " id " not in head
    assert " id " in room.run(subject, "list", "Coast", "--ids").splitlines()[0]


def test_a_number_of_a_list_names_what_it_shows(room: Room) -> None:
    room.run("constraint", "remove", "Coast", "1")
    room.run("memory", "forget", "Coast", "1")
    room.run("outline", "done", "Coast", "2")
    assert room.read("outline", "list", "Coast")[1]["done"] is True
    name = room.read("codex", "list", "Coast")[2]["name"]
    assert room.read("codex", "show", "Coast", "3")["name"] == name
    assert "STORE_NOT_FOUND" in room.run("codex", "show", "Coast", "300", code=2)


def test_a_filtered_list_keeps_the_numbers_of_the_whole(room: Room) -> None:
    names = [one["name"] for one in room.read("codex", "list", "Coast")]
    _, *rows = room.run("codex", "list", "Coast", "--type", "location").splitlines()
    assert rows
    for row in rows:
        number, name, *_ = re.split("  +", row.strip())
        assert names[int(number) - 1] == name


@pytest.mark.parametrize("columns", [60, 100])
def test_a_table_fits_the_terminal_and_is_coloured(room: Room, columns: int) -> None:
    shown = run_in_terminal("codex", "list", "Coast", folder=room.folder, columns=columns)
    assert "\x1b[" in shown
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert all(cell_len(line) <= columns for line in lines)
    assert "Mara Venn" in "\n".join(lines)


def test_a_table_in_a_pipe_has_no_colours_and_cuts_nothing(room: Room) -> None:
    said = room.run("constraint", "list", "Coast")
    assert "\x1b" not in said
    for rule in room.read("constraint", "list", "Coast"):
        assert rule["text"] in said


@given(st.lists(st.text(st.characters(codec="utf-8", categories=("L", "N")), max_size=12), min_size=1, max_size=8))
def test_columns_are_aligned_whatever_the_script(names: list[str]) -> None:
    import io
    from contextlib import redirect_stdout

    columns: list[Column[str]] = [Column("name", lambda name: name), Column("end", lambda name: "|")]
    with redirect_stdout(io.StringIO()) as said:
        print_table(names, columns)
    _, *rows = said.getvalue().split("\n")[:-1]
    assert len(rows) == len(names)
    assert len({cell_len(row.removesuffix("|")) for row in rows}) == 1


def test_times_are_local_with_their_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    for zone, shown in (
        ("Asia/Shanghai", "2026-11-17 11:53 CST"),
        ("UTC", "2026-11-17 03:53 UTC"),
        ("America/Sao_Paulo", "2026-11-17 00:53 UTC-03"),
    ):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert str(format_time("2026-11-17T03:53:13.000000Z")) == shown
    monkeypatch.undo()
    time.tzset()
    assert format_time("") == ""


def test_a_name_in_a_command_can_be_copied() -> None:
    assert quote_name("Coast") == "Coast"
    assert quote_name("The Lantern Coast") == '"The Lantern Coast"'
    assert quote_name('Say "$HOME"') == "'Say \"$HOME\"'"


def test_an_import_ends_with_what_to_do_next_as_commands(room: Room) -> None:
    (room.folder / "tide.md").write_text("# The Tide\n\n## One\n\nShe came down to the water.\n", "utf-8")
    said = room.run("import", "tide.md")
    found = re.findall(r"^(fabula \w+(?: list)?) \"The Tide\"", said, re.MULTILINE)
    assert found == ["fabula extract", "fabula synopsis list", "fabula search", "fabula write"]
    room.run("import", "tide.md")
    assert '"The Tide"' not in room.run("import", "tide.md"), "two projects have that title, so the number is given"


def test_a_command_that_leaves_work_behind_says_how_to_run_it(room: Room) -> None:
    (room.folder / "offered.md").write_text("The lamp went out.", "utf-8")
    room.run("memory", "record", "Coast", "offered.md", "--rejected")
    assert "1 job waits in the background; the next commands go on with it. To do it now: fabula jobs run" in room.aside
    room.run("jobs", "list", "Coast")
    assert "background" not in room.aside


def test_inspect_groups_what_stayed_out_for_the_same_reason(room: Room) -> None:
    listed = room.read("inspect", "Coast", "-d", "ch-01", "-w", "8192")["fragments"]
    reasons = [one["why"] for one in listed if not one["included"] and one["source"].startswith("codex:")]
    most = max(set(reasons), key=reasons.count)
    assert reasons.count(most) > 2
    said = " ".join(room.run("inspect", "Coast", "-d", "ch-01", "-w", "8192").split())
    assert f"{reasons.count(most)} entries" in said
    assert said.count(most.split(",")[0]) == 1
