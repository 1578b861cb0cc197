"""What a text is about."""

from __future__ import annotations

from fabula.text.keywords import (
    extract_keywords,
    find_capitalised_names,
    find_present_words,
    is_unspaced,
    split_content_words,
)


def test_words_that_every_text_has_say_nothing() -> None:
    assert split_content_words("She went to the lighthouse, and the Lighthouse was dark.") == [
        "lighthouse",
        "lighthouse",
        "dark",
    ]
    assert split_content_words("他去了灯塔，灯塔是黑的") == ["灯塔", "灯塔"]


def test_names_count_double() -> None:
    text = "Then Mara lit the lamp, and later Mara slept by the lamp."
    assert find_capitalised_names(text) == {"mara"}
    assert extract_keywords(text, 2) == {"mara": 4.0, "lamp": 2.0}


def test_known_words_are_found_in_a_text_of_either_kind() -> None:
    assert find_present_words("The LAMP burned; “Mára’s” too.", {"lamp", "mára", "burn"}) == {"lamp", "mára"}
    assert find_present_words("他走到灯塔下，等lamp亮。", {"灯塔", "塔下", "lamp", "亮。"}) == {"灯塔", "塔下", "lamp"}


def test_the_script_is_told_by_the_text() -> None:
    assert is_unspaced("他走了。")
    assert not is_unspaced("He left 灯塔 behind and went on to the next place.")
    assert not is_unspaced("")
