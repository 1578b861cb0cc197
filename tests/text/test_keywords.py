"""What a text is about."""

from __future__ import annotations

from fabula.text.keywords import content, keywords, names, occurring, wide


def test_words_that_every_text_has_say_nothing() -> None:
    assert content("She went to the lighthouse, and the Lighthouse was dark.") == ["lighthouse", "lighthouse", "dark"]
    assert content("他去了灯塔，灯塔是黑的") == ["灯塔", "灯塔"]


def test_names_count_double() -> None:
    text = "Then Mara lit the lamp, and later Mara slept by the lamp."
    assert names(text) == {"mara"}
    assert keywords(text, 2) == {"mara": 4.0, "lamp": 2.0}


def test_known_words_are_found_in_a_text_of_either_kind() -> None:
    assert occurring("The LAMP burned; “Mára’s” too.", {"lamp", "mára", "burn"}) == {"lamp", "mára"}
    assert occurring("他走到灯塔下，等lamp亮。", {"灯塔", "塔下", "lamp", "亮。"}) == {"灯塔", "塔下", "lamp"}


def test_the_script_is_told_by_the_text() -> None:
    assert wide("他走了。")
    assert not wide("He left 灯塔 behind and went on to the next place.")
    assert not wide("")
