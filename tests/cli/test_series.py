"""A series from the command line: books share its codex and say more of it."""

from __future__ import annotations

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]


@pytest.fixture
def shared(room: Room) -> Room:
    """A series with Old Tom in it, and the Coast as its first book."""
    room.run("series", "new", "All Coasts")
    room.run("codex", "add", "All Coasts", "Old Tom", "--id", "tom", "--type", "character", "-D", "A piper.")
    assert room.run("series", "join", "Coast", "All Coasts") == "Coast belongs to All Coasts, as book 1.\n"
    return room


def test_books_join_and_leave(shared: Room) -> None:
    assert [book["title"] for book in shared.read("series", "books", "All Coasts")] == ["Coast"]
    assert "Old Tom" in shared.run("codex", "list", "Coast")
    shared.run("series", "leave", "Coast")
    assert "Old Tom" not in shared.run("codex", "list", "Coast")
    assert "No books yet" in shared.run("series", "books", "All Coasts")
    assert "PROJECT_INVALID" in shared.run("series", "join", "Coast", "Coast", code=2)


def test_a_book_says_more_of_what_its_series_has(shared: Room) -> None:
    assert "1 progression:" in shared.run("codex", "progress", "Coast", "Old Tom", "He drowned.", "--since", "ch-02")
    shared.run("codex", "relate", "Coast", "tom", "mara", "--kind", "fears")
    shared.run("codex", "edit", "Coast", "tom", "--detail", "eyes=grey", "--case", "exact")
    told = shared.read("codex", "show", "Coast", "tom")
    assert (told["description"], told["details"], told["rules"]["case"]) == ("A piper.", {"eyes": "grey"}, "exact")
    assert [step["text"] for step in told["progressions"]] == ["He drowned."]
    assert [(one["to"], one["kind"]) for one in told["relations"]] == [("mara", "fears")]
    alone = shared.read("codex", "show", "All Coasts", "tom")
    assert (alone["progressions"], alone["relations"], alone["details"]) == ([], [], {})


def test_an_entry_of_a_series_can_be_pinned_to_a_document_of_a_book(shared: Room) -> None:
    shared.run("codex", "pin", "Coast", "Old Tom", "ch-01")
    assert "pinned to this document" in shared.run("why", "Old Tom", "Coast", "-d", "ch-01", "-w", "8192")


def test_what_a_series_says_is_changed_there(shared: Room) -> None:
    shared.run("codex", "progress", "Coast", "tom", "He drowned.", "--since", "ch-02")
    shared.run("codex", "know", "Coast", "tom", "mara", "--progression", "1", "--since", "ch-03")
    assert "STORE_NOT_FOUND" in shared.run("codex", "progress", "Coast", "tom", "--remove", "2", code=2)
    assert "0 progressions." in shared.run("codex", "progress", "Coast", "tom", "--remove", "1")


def test_rules_for_names_are_changed_one_by_one(room: Room) -> None:
    room.run("codex", "add", "Coast", "Rose", "--id", "rose", "--case", "exact", "--without", "Rose garden")
    room.run("codex", "edit", "Coast", "rose", "--case", "any")
    kept = room.read("codex", "show", "Coast", "rose")["rules"]
    assert (kept["case"], kept["without"]) == ("any", ["Rose garden"])
    assert "CODEX_INVALID" in room.run("codex", "edit", "Coast", "rose", "--case", "odd", code=2)


def test_an_entry_of_a_book_is_shared_with_its_series_and_taken_back(shared: Room) -> None:
    said = shared.run("codex", "share", "Coast", "Grace Odell")
    assert "Grace Odell would belong to All Coasts." in said
    assert "Add --apply to share." in said
    assert "Grace" not in shared.run("codex", "list", "All Coasts")
    done = shared.read("codex", "share", "Coast", "Grace Odell", "--apply")
    assert (done["applied"], done["entries"][0]["series"]) == (True, "All Coasts")
    assert "Grace Odell" in shared.run("codex", "list", "All Coasts")
    assert "STORE_DUPLICATE" in shared.run("codex", "share", "Coast", "Grace Odell", code=2)
    said = shared.run("undo", "Coast")
    assert "shared with the series: Grace Odell" in said
    assert "All Coasts · Grace Odell: gone" in said  # not from the book
    assert "Grace" not in shared.run("codex", "list", "All Coasts")
    shared.run("series", "leave", "Coast")
    assert "fabula series join" in shared.run("codex", "share", "Coast", "Grace Odell", code=2)
