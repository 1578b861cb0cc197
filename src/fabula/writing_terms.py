"""How a project wants its writing done: from its settings, the person's, and the environment.

| setting | says |
| `llm.provider`, `llm.model` | who writes, unless a command says otherwise |
| `llm.places` | providers of one's own: by name, with `base_url`, `speaks`, `key_variable` … |
| `llm.prices` | rows of the price table |
| `judge.policy`, `judge.tries`, `judge.withModel` | how answers are judged |
| `runs.keepPrompts` | whether whole prompts are kept on record |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.llm.local import BUNDLED, model_file
from fabula.llm.money import PRICES, read_prices
from fabula.llm.places import PLACES, Place
from fabula.llm.runs import KEEP_PROMPTS
from fabula.settings import service as settings
from fabula.store.store import OWNER, Store
from fabula.writing import Judging, Terms

USUAL_MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "deepseek": "deepseek-chat", "local": BUNDLED}


class Chosen(Struct, frozen=True):
    """Who writes, and how."""

    place: Place
    model: str
    terms: Terms


def chosen(
    store: Store | None = None,
    project_id: str = "",
    *,
    user: str = OWNER,
    provider: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
) -> Chosen:
    """What is asked for, else what the project says, else the person, else what there is a key or a model for."""
    said = _said(store, project_id, user) if store is not None else {}
    places = {**PLACES, **_places(said.get("llm.places", {}))}
    name = provider or _text(said, "llm.provider") or ("own" if base_url else _there())
    place = places.get(name)
    if base_url:
        shape = place or Place(name=name, needs_key=False, key_variable="FABULA_LLM_KEY")
        place = msgspec.structs.replace(shape, base_url=base_url)
    if place is None:
        raise FabulaError(
            Code.SETTING_INVALID, f"There is no provider called {name!r}. There are: {', '.join(sorted(places))}."
        )
    wanted = model or _text(said, "llm.model") or USUAL_MODELS.get(place.name, "gpt-4o")
    return Chosen(place, wanted, _terms(said, place))


def _there() -> str:
    """The first provider there is a key for, else the model on this machine, else the clipboard."""
    for name in ("anthropic", "openai", "deepseek", "openrouter"):
        if os.environ.get(PLACES[name].key_variable, "").strip():
            return name
    return "local" if model_file() is not None else "clipboard"


def _said(store: Store, project_id: str, user: str) -> Mapping[str, Any]:
    with store.read(project=project_id, user=user) as reading:
        own = {one.name: one.value for one in settings.listed(reading, scope="user")}
        return {**own, **{one.name: one.value for one in settings.listed(reading)}}


def _terms(said: Mapping[str, Any], place: Place) -> Terms:
    plain = {
        "policy": said.get("judge.policy", "flag"),
        "tries": said.get("judge.tries", 2),
        "with_model": said.get("judge.withModel", False),
    }
    try:
        judging = msgspec.convert(plain, Judging)
        keep = msgspec.convert(said.get(KEEP_PROMPTS, False), bool)
    except msgspec.ValidationError as error:
        raise FabulaError(Code.SETTING_INVALID, f"A setting of judge or runs makes no sense: {error}.") from error
    prices = read_prices(said["llm.prices"]) if "llm.prices" in said else PRICES
    return Terms(judging=judging, prices=prices, patience=place.patience, keep_prompts=keep)


def _places(table: Any) -> dict[str, Place]:
    try:
        rows = msgspec.convert(table, dict[str, dict[str, Any]])
        return {name: msgspec.convert({**row, "name": name}, Place) for name, row in rows.items()}
    except msgspec.ValidationError as error:
        raise FabulaError(Code.SETTING_INVALID, f"`llm.places` makes no sense: {error}.") from error


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name, "")
    if not isinstance(value, str):
        raise FabulaError(Code.SETTING_INVALID, f"The setting {name} should be a text.")
    return value
