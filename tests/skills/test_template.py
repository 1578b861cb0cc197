"""Templates: rendering, and refusal of anything outside their vocabulary."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.skills.template import MAX_BEATS, VARIABLES, find_variables, render_template, validate_template

NOTHING = dict.fromkeys(VARIABLES, "") | {"beats": ()}


def test_placeholders_are_filled_in() -> None:
    template = "{% if beat %}Towards: {{ beat }}{% endif %} {% for one in beats %}[{{ one }}]{% endfor %}"
    assert render_template(template, {**NOTHING, "beat": "a", "beats": ("a", "b")}) == "Towards: a [a][b]"


def test_a_text_without_placeholders_stays_the_same() -> None:
    assert render_template("Plain { text } 100 %", {}) == "Plain { text } 100 %"
    assert find_variables("Plain") == frozenset()
    assert find_variables("{{ beat }}") == {"beat"}


def test_values_are_never_parsed_as_templates() -> None:
    assert render_template("{{ instruction }}", {**NOTHING, "instruction": "{{ 7 }}{% raw %}"}) == "{{ 7 }}{% raw %}"


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
        "{{ 1e999 }}",
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
        validate_template(hostile)
        beats = tuple(f"beat {n}" for n in range(30))
        render_template(hostile, {**NOTHING, "beats": beats, "selection": "word " * 4000})

    with pytest.raises(FabulaError) as refusal:
        tried()
    assert refusal.value.code is Code.SKILL_INVALID


def test_beats_can_be_sliced_indexed_and_counted() -> None:
    template = "{% for one in beats[:2] %}{{ loop.index }}. {{ one }}{% if not loop.last %}, {% endif %}{% endfor %}"
    assert render_template(template, {**NOTHING, "beats": ("a", "b", "c")}) == "1. a, 2. b"
    assert (
        render_template("{{ beats[0] }} {{ beats[-1]|upper }} {{ beats|join('/') }}", {**NOTHING, "beats": ("a", "b")})
        == "a B a/b"
    )


def test_the_number_of_beats_in_a_loop_is_bounded() -> None:
    assert len(render_template("{% for one in beats %}x{% endfor %}", {**NOTHING, "beats": ("b",) * 5000})) == MAX_BEATS


def test_endless_output_is_refused() -> None:
    many = tuple("x" * 100 for _ in range(1000))
    with pytest.raises(FabulaError, match="without end"):
        render_template(
            "{% for a in beats %}{% for b in beats %}{{ a }}{{ b }}{% endfor %}{% endfor %}", {**NOTHING, "beats": many}
        )


@pytest.mark.parametrize(
    "template",
    ["{{ " + "not " * 160 + "title }}", "{{ title" + " and title" * 160 + " }}", "{{ title" + "|upper" * 90 + " }}"],
)
def test_a_deeply_nested_expression_is_refused_before_it_is_compiled(template: str) -> None:
    with pytest.raises(FabulaError, match="nested more than") as caught:
        validate_template(template)
    assert caught.value.code is Code.SKILL_INVALID
