"""The cache of measured fragments: those that come again stay, others make way."""

from __future__ import annotations

from fabula.context.measure import CACHED_CHARACTERS, Measure
from fabula.context.phrases import load_phrases
from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.tokens.models import find_model
from fabula.text.tokens.tokenizer import ByteTokenizer
from tests.context.builders import chunk

LONG = "word " * 2000
FULL = CACHED_CHARACTERS // len(LONG) + 1  # so many long fragments fill a generation of the cache
FACT = chunk("The lamp is out.", 0.5)


def make_measure() -> Measure:
    return Measure(ByteTokenizer(), load_phrases("en"), find_model("gpt-4o"))


def measure_once(measure: Measure, number: int) -> None:
    measure.measure_fragment(chunk(f"{LONG}{number}", 0.5), not_revealed=False)


def test_a_fragment_that_comes_again_and_again_is_measured_once() -> None:
    measure = make_measure()
    first = measure.measure_fragment(FACT, not_revealed=False)
    for n in range(3 * FULL):
        measure_once(measure, n)
        if n % (FULL // 2) == 0:
            assert measure.measure_fragment(FACT, not_revealed=False) is first
    assert len(measure.measured.recent) <= FULL + 1


def test_a_fragment_that_does_not_come_again_is_forgotten() -> None:
    measure = make_measure()
    first = measure.measure_fragment(FACT, not_revealed=False)
    for n in range(2 * FULL):
        measure_once(measure, n)
    assert measure.measure_fragment(FACT, not_revealed=False) is not first


def test_a_fragment_of_one_request_is_not_cached() -> None:
    measure = make_measure()
    after = Fragment(
        source="editor:after",
        layer=Layer.IMMEDIATE,
        text="And so on.",
        project_id="p",
        part=Part.AFTER,
        is_single_use=True,
    )
    assert measure.measure_fragment(after, not_revealed=False).text == "And so on."
    assert not measure.measured.recent


def test_a_mark_is_not_cached() -> None:
    measure = make_measure()
    plain = measure.measure_fragment(FACT, not_revealed=False)
    assert measure.measure_fragment(FACT, not_revealed=True).text != plain.text
    assert measure.measure_fragment(FACT, not_revealed=False) is plain


def test_another_fragment_with_the_same_id_is_measured_anew() -> None:
    measure = make_measure()
    for n in range(1000):  # ids of freed objects are given again
        assert measure.measure_fragment(chunk(f"Text {n}.", 0.5), not_revealed=False).text == f"Text {n}."
