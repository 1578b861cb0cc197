"""How much of a lasting detail a sentence tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text.telling import measure_sentence, measure_telling

DETAILS = [
    (
        "Ilva had sworn to her dying father never to sell the boat.",
        "Ilva walked along the quay and looked at the boat.",
    ),
    (
        "Old Tamm was deaf in the left ear since the winter of the great storm.",
        "Old Tamm came in and sat by the stove.",
    ),
    ("自从那年落水，沈砚每逢下雨必咳，从不肯坐船。", "沈砚走进屋里，把门关上，点亮了桌上的灯。"),
]


@pytest.mark.parametrize(("telling", "plain"), DETAILS)
def test_a_lasting_detail_tells_more_than_what_happens_now(telling: str, plain: str) -> None:
    assert measure_sentence(telling) > measure_sentence(plain) + 0.3


def test_speech_and_questions_tell_nothing() -> None:
    assert measure_sentence("“My father had sworn never to sell the boat,” he said at last.") == 0
    assert measure_sentence("Had her father ever sworn that he would never sell the boat?") == 0


def test_a_text_tells_as_much_as_its_most_telling_sentence() -> None:
    telling, plain = DETAILS[0]
    assert measure_telling(f"{plain} {telling}") == measure_sentence(telling)


@given(st.text(max_size=400))
def test_any_text_tells_between_nothing_and_all(text: str) -> None:
    assert 0 <= measure_telling(text) <= 1
