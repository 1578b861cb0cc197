"""Writing options: which model writes, and how, from what is asked for, the settings and this machine.

A command may name the provider and the model. Otherwise the settings `llm.provider` and `llm.model` do, and where
nobody set them, the first provider that has a key, the model on this machine, or the clipboard. A model belongs to
the provider it was set for: with another provider, that one's default model is taken.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack, get_args

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message
from fabula.core.view import Language
from fabula.llm.local_model import GGUF_ENCODING, find_counted_model, load_tokenizer
from fabula.llm.model import ModelCall, describe_schema
from fabula.llm.pricing import PRICES, Price, parse_prices
from fabula.llm.provider_config import (
    BUILT_IN_PROVIDERS,
    DEFAULT_RETRY_POLICY,
    ProviderConfig,
    RetryPolicy,
    find_key_place,
)
from fabula.llm.providers.local import BUNDLED_MODEL, find_model_file
from fabula.llm.user_providers import ProviderRegistry, load_providers
from fabula.net.addresses import split_url
from fabula.settings.values import SettingValues, read_values
from fabula.skills.judge import JudgePolicy
from fabula.store.store import LOCAL_USER, Store
from fabula.text.tokens.models import ESTIMATE, is_known
from fabula.workspace.arguments import check_arguments

UNKNOWN_MODEL_WINDOW = 8192  # tokens, of a model that no table knows, on a server of one's own
DEMO_ENCODING = "o200k_base"
ADDED_TURN_TOKENS = 24  # of the first turn that Anthropic's API wants from the user
_VENDORS = ("anthropic", "openai", "deepseek", "openrouter")
DEFAULT_MODELS = {
    "openai": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "deepseek": "deepseek-chat",
    "local": BUNDLED_MODEL,
}


class JudgeOptions(Struct, frozen=True, kw_only=True):
    """How answers are judged: not at all, marked, or written again up to `tries` times; with the model or without."""

    policy: JudgePolicy = "flag"
    tries: int = 2
    with_model: bool = False


class WritingOptions(Struct, frozen=True, kw_only=True):
    """How a writer works: judging, prices, retries, and whether whole prompts are kept on record."""

    judge: JudgeOptions = JudgeOptions()
    prices: Mapping[str, Price] = PRICES
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY
    keep_prompts: bool = False


DEFAULT_OPTIONS = WritingOptions()


class ModelChoice(Struct, frozen=True):
    """Which provider and model write, and how."""

    provider: ProviderConfig
    model: str
    options: WritingOptions
    reason: Sentence | None = None  # why this provider, where somebody chose


class ModelWish(TypedDict, total=False):
    """Who shall write, as far as somebody says so."""

    provider: str | None
    model: str | None
    base_url: str | None
    judge: str | None  # the policy of the judge, in place of the one in the settings


@check_arguments
def choose_model(
    store: Store | None = None, project_id: str = "", *, user: str = LOCAL_USER, **wish: Unpack[ModelWish]
) -> ModelChoice:
    """Choose a model: the one asked for, else that of the settings, else the default of whatever is there."""
    model, base_url, judge = wish.get("model"), wish.get("base_url"), wish.get("judge")
    values = _read_settings(store, project_id, user) if store is not None else SettingValues()
    registry = load_providers()
    fallback = "own" if base_url else _find_available()
    name = wish.get("provider") or values["llm.provider"] or fallback
    if base_url:
        if split_url(base_url, ("http", "https")) is None:
            raise FabulaError(
                Code.LLM_ADDRESS_REFUSED,
                message(
                    "{url!r} is no address of a model. Give one that begins with http:// or https://.", url=base_url
                ),
            )
        known = registry.providers.get(name)
        config = known or ProviderConfig(name=name, needs_key=False, key_variable="FABULA_LLM_KEY")
        config = replace(config, base_url=base_url)
    else:
        config = registry.find(name)
    set_for = values["llm.provider"] or (name if base_url else fallback)
    if model is None and set_for == name:
        model = values["llm.model"]
    reason = _explain_choice(name, is_asked=bool(wish.get("provider") or base_url), is_set=bool(values["llm.provider"]))
    choice = replace(_make_choice(config, model or "", values), reason=reason)
    return choice if judge is None else _with_judge(choice, judge)


def _explain_choice(name: str, *, is_asked: bool, is_set: bool) -> Sentence:
    """Say why a provider was chosen."""
    if is_asked:
        return message("you asked for it")
    if is_set:
        return message("the setting llm.provider says so")
    if name == "local":
        return message("no key of another provider is set, and this model is on your machine")
    if name == "clipboard":
        return message("no key is set, and there is no model on this machine")
    return message("its key is set")


def choose_background_model(store: Store, project_id: str, *, user: str = LOCAL_USER) -> ModelChoice | None:
    """Choose the model that works when nobody asked: the one that this machine's `models.toml` names, else none.

    A key in the environment lets a writer ask; it is no leave to spend money unasked. The bundled model is too small
    to summarise truthfully, so it is not asked either.
    """
    registry = load_providers()
    if not registry.background_provider:
        return None
    return _choose_background(registry, _read_settings(store, project_id, user))


def has_background_model(values: SettingValues, *, without_key: bool) -> bool:
    """Return whether a model works in the background, perhaps one that needs no key; an unusable file names none."""
    try:
        registry = load_providers()
        choice = _choose_background(registry, values) if registry.background_provider else None
    except FabulaError:
        return False
    return choice is not None and not (without_key and choice.provider.needs_key)


def _choose_background(registry: ProviderRegistry, values: SettingValues) -> ModelChoice | None:
    choice = _make_choice(registry.find(registry.background_provider), "", values)
    return None if choice.provider.api_style in ("clipboard", "demo") or choice.model == BUNDLED_MODEL else choice


def size_request(request: Request, choice: ModelChoice) -> Request:
    """Make the request one for the chosen model.

    An unknown model on a server of one's own gets a small window, and is counted cautiously. No model reads what the
    demo is sent: it is counted as it stands, so that caution leaves nothing out.
    """
    added = ADDED_TURN_TOKENS if choice.provider.api_style == "anthropic" else 0
    request = replace(request, model=choice.model, added_tokens=added)
    if choice.provider.api_style == "local" and request.encoding is None and find_model_file() is not None:
        request = replace(request, encoding=GGUF_ENCODING)
    if choice.provider.name not in _VENDORS and not is_known(choice.model):
        window = UNKNOWN_MODEL_WINDOW if request.window is None else request.window
        encoding = DEMO_ENCODING if choice.provider.api_style == "demo" else ESTIMATE
        return replace(request, window=window, encoding=request.encoding or encoding)
    return request


def reserve_schema(request: Request, schema: Mapping[str, Any] | None, language: Language) -> Request:
    """Reserve the tokens of the instruction to follow a schema, which the provider adds to the prompt."""
    if schema is None:
        return request
    model = find_counted_model(request.model, window=request.window, encoding_name=request.encoding)
    call = ModelCall(model=model.name, messages=(), schema=schema, language=language)
    tokens = load_tokenizer(model).count(describe_schema(call)) + model.tokens_per_message
    return replace(request, added_tokens=request.added_tokens + tokens)


def _find_available() -> str:
    """Name the first provider that has a key, else the model on this machine, else the clipboard."""
    for name in _VENDORS:
        if os.environ.get(BUILT_IN_PROVIDERS[name].key_variable, "").strip():
            return name
    return "local" if find_model_file() is not None else "clipboard"


def _with_judge(choice: ModelChoice, policy: str) -> ModelChoice:
    policies: tuple[JudgePolicy, ...] = get_args(JudgePolicy)
    for known in policies:
        if policy == known:
            judge = replace(choice.options.judge, policy=known)
            return replace(choice, options=replace(choice.options, judge=judge))
    raise FabulaError(
        Code.REQUEST_INVALID,
        message("{name!r} is no way to judge. There are: {known}.", name=policy, known=join_names(policies)),
    )


def _read_settings(store: Store, project_id: str, user: str) -> SettingValues:
    """Return the settings of a user; who has chosen no provider asks the one of the store's owner."""
    with store.read(project=project_id, user=user) as reading:
        values = read_values(reading)
    is_guest = user != LOCAL_USER and not values["llm.provider"]
    return _read_settings(store, project_id, LOCAL_USER) if is_guest else values


def find_default_model(config: ProviderConfig) -> str:
    """Name the model of a provider that is asked where nobody names one; empty where it has none."""
    return config.model or DEFAULT_MODELS.get(config.name, "")


def can_answer(config: ProviderConfig) -> bool:
    """Return whether a provider has what it needs to answer: a key, if it needs one, and a model or its file."""
    if config.api_style in ("demo", "clipboard"):
        return True
    if config.api_style == "local":
        return find_model_file() is not None
    return bool(find_default_model(config)) and (not config.needs_key or find_key_place(config) is not None)


def _make_choice(config: ProviderConfig, model: str, values: SettingValues) -> ModelChoice:
    model = model or find_default_model(config) or DEFAULT_MODELS["openai"]
    prices = values["llm.prices"]
    options = WritingOptions(
        judge=JudgeOptions(
            policy=values["judge.policy"], tries=values["judge.tries"], with_model=values["judge.withModel"]
        ),
        prices=PRICES if prices is None else parse_prices(prices),
        retry_policy=config.retry_policy,
        keep_prompts=values["runs.keepPrompts"],
    )
    return ModelChoice(config, model, options)
