"""How a project wants its writing done: from its settings, the person's, and the environment.

| setting | says |
| `llm.provider`, `llm.model` | who writes, unless a command says otherwise |
| `llm.prices` | rows of the price table; the person's only |
| `judge.policy`, `judge.tries`, `judge.withModel` | how answers are judged |
| `runs.keepPrompts` | whether whole prompts are kept on record |
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.llm.pricing import PRICES, Price, read_prices
from fabula.llm.provider_config import PLACES, USUAL, Patience, Place
from fabula.llm.providers.local import BUNDLED, model_file
from fabula.llm.runs import KEEP_PROMPTS
from fabula.llm.user_providers import own_models
from fabula.settings import edits as settings
from fabula.skills.judge import Policy
from fabula.store.store import OWNER, Store
from fabula.text.tokens.models import is_known

PRICED = "llm.prices"  # the setting
CAUTIOUS = 8192  # the window of a model that no table knows, on a server of one's own
JUDGED = ("judge.policy", "judge.tries", "judge.withModel")
_VENDORS = ("anthropic", "openai", "deepseek", "openrouter")
USUAL_MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "deepseek": "deepseek-chat", "local": BUNDLED}


class Judging(Struct, frozen=True, kw_only=True):
    """How answers are judged: not at all, marked, or written anew up to so many times; with the model or without."""

    policy: Policy = "flag"
    tries: int = 2
    with_model: bool = False


class Terms(Struct, frozen=True, kw_only=True):
    """How a writer works: judging, prices, patience, and whether prompts are kept on record."""

    judging: Judging = Judging()
    prices: Mapping[str, Price] = PRICES
    patience: Patience = USUAL
    keep_prompts: bool = False


DEFAULTS = Terms()


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
    scopes = _scopes(store, project_id, user) if store is not None else ()
    own = own_models()
    said = [_text(scope, "llm.provider") for scope in scopes]
    usual = "own" if base_url else _there()
    name = provider or next(filter(None, said), usual)
    if base_url:
        shape = own.places.get(name) or Place(name=name, needs_key=False, key_variable="FABULA_LLM_KEY")
        place = msgspec.structs.replace(shape, base_url=base_url)
    else:
        place = own.place(name)
    for number, named in enumerate([_text(scope, "llm.model") for scope in scopes]):
        meant = next(filter(None, said[number:]), name if base_url else usual)  # a model belongs to whoever has it
        model = model or (named if meant == name else "")
    return _chosen(place, model or "", _together(scopes))


def for_background(store: Store, project_id: str, *, user: str = OWNER) -> Chosen | None:
    """Who works for the house when nobody asked: whoever this machine's `models.toml` names, and nobody else.

    A key in the environment lets a writer ask; it is no leave to spend money behind their back. The model that
    comes along with the house tells nothing true, so it is not asked either.
    """
    own = own_models()
    if not own.background:
        return None
    who = _chosen(own.place(own.background), "", _together(_scopes(store, project_id, user)))
    return None if who.place.speaks == "clipboard" or who.model == BUNDLED else who


def check_setting(name: str, value: object, *, person: bool) -> None:
    """Refuse a setting that `chosen` could not follow, when it is set."""
    if name == PRICED and not person:
        raise _refused("What something costs is yours to say, not a project's: set llm.prices with --user")
    if name.startswith("judge.") and name not in JUDGED:
        raise _refused(f"There is no setting {name!r}. There are: {', '.join(JUDGED)}")
    if name == PRICED:
        read_prices(value)
    elif name in ("llm.provider", "llm.model"):
        said = _text({name: value}, name)
        if name == "llm.provider":
            own_models().place(said)
    elif name in JUDGED or name == KEEP_PROMPTS:
        _terms({name: value}, PLACES["clipboard"])


def sized(request: Request, who: Chosen) -> Request:
    """The request for whoever was chosen. A server of one's own may hold a model that no table knows: be cautious."""
    request = msgspec.structs.replace(request, model=who.model)
    if request.window is None and who.place.name not in _VENDORS and not is_known(who.model):
        return msgspec.structs.replace(request, window=CAUTIOUS, encoding=request.encoding or "o200k_base")
    return request


def _there() -> str:
    """The first provider there is a key for, else the model on this machine, else the clipboard."""
    for name in _VENDORS:
        if os.environ.get(PLACES[name].key_variable, "").strip():
            return name
    return "local" if model_file() is not None else "clipboard"


def _scopes(store: Store, project_id: str, user: str) -> tuple[Mapping[str, Any], ...]:
    """What the project says, then what the person does; but no project says what something costs a person."""
    with store.read(project=project_id, user=user) as reading:
        own = {one.name: one.value for one in settings.listed(reading, scope="user")}
        return {one.name: one.value for one in settings.listed(reading) if one.name != PRICED}, own


def _together(scopes: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """All that is said; what comes first goes before what comes later."""
    return {name: value for scope in reversed(list(scopes)) for name, value in scope.items()}


def _chosen(place: Place, model: str, said: Mapping[str, Any]) -> Chosen:
    wanted = model or place.model or USUAL_MODELS.get(place.name, "gpt-4o")
    return Chosen(place, wanted, _terms(said, place))


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
    prices = read_prices(said[PRICED]) if PRICED in said else PRICES
    return Terms(judging=judging, prices=prices, patience=place.patience, keep_prompts=keep)


def _refused(why: str) -> FabulaError:
    return FabulaError(Code.SETTING_INVALID, f"{why}. Nothing was changed.")


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name, "")
    if not isinstance(value, str):
        raise FabulaError(Code.SETTING_INVALID, f"The setting {name} should be a text.")
    return value
