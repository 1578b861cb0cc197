"""Templates: what they may ask for, and what they may not do."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.skills.template import MOST_BEATS, VARIABLES, check, render, uses

NOTHING = dict.fromkeys(VARIABLES, "") | {"beats": ()}


def test_blanks_are_filled_in() -> None:
    said = "{% if beat %}Towards: {{ beat }}{% endif %} {% for one in beats %}[{{ one }}]{% endfor %}"
    assert render(said, {**NOTHING, "beat": "a", "beats": ("a", "b")}) == "Towards: a [a][b]"


def test_a_text_without_blanks_is_itself() -> None:
    assert render("Plain { text } 100 %", {}) == "Plain { text } 100 %"
    assert uses("Plain") == frozenset()
    assert uses("{{ beat }}") == {"beat"}


def test_what_a_writer_says_is_never_read_as_a_template() -> None:
    assert render("{{ instruction }}", {**NOTHING, "instruction": "{{ 7 }}{% raw %}"}) == "{{ 7 }}{% raw %}"


@pytest.mark.parametrize(
    "hostile",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ instruction.__init__.__globals__ }}",
        "{{ self.__init__ }}",
        "{{ ().__class__.__bases__[0].__subclasses__() }}",
        "{{ beats.append('x') }}",
        "{{ range(10) }}",
        "{{ lipsum() }}",
        "{{ cycler }}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
        "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% for a in beats %}{% for b in beats %}{% for c in beats %}x{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in beats recursive %}{{ loop(beats) }}{% endfor %}",
        "{{ 'x' * 1000000000 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ '%1000000000d' % 3 }}",
        "{{ 'x'.__add__ }}",
        "{{ '{0.__class__}'.format(beat) }}",
        "{{ 'x'|center(1000000000) }}",
        "{{ beat|attr('__class__') }}",
        "{{ secret }}",
        "{% if %}",
        "{{ beat",
        "{{ 1 / 0 }}",
        "{{ 'x'.ljust(1000000000) }}",
        "{{ 'x'.zfill(1000000000) }}",
        "{{ beat.format_map({}) }}",
        "{{ ('x' ~ 'y').replace('', 'z' ~ 'z').join(beats) }}{{ nothing }}",
        "{{ " + "(" * 500 + "1" + ")" * 500 + " }}",
        "x" * 30_000,
        "{% set a = 'xxxxxxxxxx' %}" + "{% set a = a ~ a %}" * 60 + "{{ a }}",
        "{% set a %}xxxxxxxxxx{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 60,
        "{{ " + " ~ ".join(["selection"] * 1500) + " }}",
        "{{ " + " + ".join(["selection"] * 1500) + " }}",
        "{{ [selection, selection]|join(selection) }}",
        "{{ beats|join(selection) }}",
        "{% for a in selection %}{% for b in selection %}{% endfor %}{% endfor %}",
        "{% for a in 'abc' %}{% endfor %}",
        "{% for a in beats %}{% endfor %}" * 9,
        "{% if beat %}" * 150 + "{% endif %}" * 150,
        "{{ " + "not " * 900 + "beat }}",
        "{{ 1" + "0" * 5000 + " }}",
        "{{ beats.count }}",
        "{{ beats['count'] }}",
        "{{ beats[beat] }}",
        "{% for a in beats %}{{ loop.cycle }}{% endfor %}",
        "{{ self }}",
        "{% autoescape true %}{{ beat }}{% endautoescape %}",
        "{% with a = beat %}{{ a }}{% endwith %}",
        "{% filter upper %}x{% endfilter %}",
        "{{ 3 is divisibleby(0) }}",
    ],
)
def test_a_hostile_or_broken_template_is_refused(hostile: str) -> None:
    def tried() -> None:
        check(hostile)
        beats = tuple(f"beat {n}" for n in range(30))
        render(hostile, {**NOTHING, "beats": beats, "selection": "word " * 4000})

    with pytest.raises(FabulaError) as refusal:
        tried()
    assert refusal.value.code is Code.SKILL_INVALID


def test_some_of_the_beats_and_where_one_is_among_them() -> None:
    said = "{% for one in beats[:2] %}{{ loop.index }}. {{ one }}{% if not loop.last %}, {% endif %}{% endfor %}"
    assert render(said, {**NOTHING, "beats": ("a", "b", "c")}) == "1. a, 2. b"
    assert (
        render("{{ beats[0] }} {{ beats[-1]|upper }} {{ beats|join('/') }}", {**NOTHING, "beats": ("a", "b")})
        == "a B a/b"
    )


def test_a_loop_goes_over_no_more_beats_than_anybody_needs() -> None:
    assert len(render("{% for one in beats %}x{% endfor %}", {**NOTHING, "beats": ("b",) * 5000})) == MOST_BEATS


def test_a_text_without_end_is_cut_off() -> None:
    many = tuple("x" * 100 for _ in range(1000))
    with pytest.raises(FabulaError, match="without end"):
        render(
            "{% for a in beats %}{% for b in beats %}{{ a }}{{ b }}{% endfor %}{% endfor %}", {**NOTHING, "beats": many}
        )
