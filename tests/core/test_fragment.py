"""A fragment is sound, or it is refused when it is made."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import LAYERS, Fragment, Layer, Tier, Visibility, find_flaw, is_encodable
from fabula.core.story import Position
from tests.text.strings import hard_strings


def make(**changes: Any) -> Fragment:
    fields: dict[str, Any] = {"source": "codex:entity:mara", "layer": Layer.RULES, "text": "Mara.", "project_id": "p"}
    return Fragment(**{**fields, **changes})


def test_the_layers_stand_in_their_order() -> None:
    assert LAYERS == (Layer.RULES, Layer.SETTINGS, Layer.RETRIEVED, Layer.IMMEDIATE)


def test_what_a_user_made_is_the_last_to_go() -> None:
    assert max(Tier) is Tier.USER
    assert Tier.GRAPH < Tier.LEARNED < Tier.PROJECT < Tier.USER


@pytest.mark.parametrize(
    "changes",
    [
        {"source": ""},
        {"source": None},
        {"text": None},
        {"text": b"bytes"},
        {"project_id": ""},
        {"project_id": 7},
        {"layer": "cellar"},
        {"layer": "rules"},
        {"score": nan},
        {"score": inf},
        {"score": -0.1},
        {"score": True},
        {"score": "high"},
        {"token_count": -1},
        {"token_count": 1.5},
        {"token_count": "many"},
        {"text": "half \ud83d of a character"},
    ],
    ids=repr,
)
def test_a_malformed_fragment_is_refused_with_its_code_and_its_source(changes: dict[str, Any]) -> None:
    with pytest.raises(FabulaError) as caught:
        make(**changes)
    assert caught.value.code is Code.FRAGMENT_INVALID
    assert caught.value.details["source"] == changes.get("source", "codex:entity:mara")


@pytest.mark.parametrize("changes", [{"text": ""}, {"score": 0}, {"score": 7.5}, {"token_count": 0}, {"title": "Mara"}])
def test_a_sound_fragment_is_made(changes: dict[str, Any]) -> None:
    assert find_flaw(make(**changes)) is None


def test_a_fragment_never_changes() -> None:
    field = "text"
    with pytest.raises(AttributeError):
        setattr(make(), field, "Something else.")


def test_text_made_from_others_carries_the_terms_of_all_of_them() -> None:
    chapter = Visibility("document:ch-9", since=Position("ch-9", 100))
    synopsis = make(source="synopsis:ch-9", derived_from=(chapter,))
    recap = make(source="recap:1", known_to=frozenset({"mara"}), derived_from=synopsis.visibilities)
    assert [terms.source for terms in recap.visibilities] == ["recap:1", "synopsis:ch-9", "document:ch-9"]
    assert recap.visibilities[0].known_to == frozenset({"mara"})
    assert recap.visibilities[-1].since == Position("ch-9", 100)


def test_a_fragment_is_called_by_its_title_or_by_its_source() -> None:
    assert make(title="Mara Venn").display_name == "Mara Venn"
    assert make().display_name == "codex:entity:mara"


def test_a_text_is_whole_when_it_can_be_sent() -> None:
    assert all(is_encodable(text) for text in hard_strings(3, 200))
    assert not is_encodable("林\ud800远")
    assert not is_encodable("\udc00")
