"""What a model server says it read never exceeds what was planned, whatever the provider, model and prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from fabula.context import Engine, EngineSettings, FabulaError, Fragment, Limits, Request, Result
from fabula.core.errors import Code
from fabula.llm.local_model import find_counted_model, load_tokenizer
from fabula.llm.model import ModelCall
from fabula.llm.provider_config import LOCAL_RETRY_POLICY, ApiStyle, ProviderConfig
from fabula.llm.providers import make_provider
from fabula.llm.retry import fetch_response
from fabula.skills.judge import VERDICT_SCHEMA
from fabula.workspace.writing import ANSWER_SCHEMAS
from fabula.workspace.writing_options import DEFAULT_OPTIONS, ModelChoice, reserve_schema, size_request
from tests.context.strategies import ALL_RECIPES, fragment_lists, requests
from tests.llm import chat_templates as templates
from tests.llm.chat_templates import Template, count_tokens, read_turns
from tests.llm.server import ModelServer, counting_answer, run_server
from tests.net.proxy import clear_proxies

BOUNDLESS = EngineSettings(limits=Limits(input_tokens=10**9))
REFUSALS = (Code.RULES_TOO_LARGE, Code.INPUT_TOO_LARGE)
MODERN = ("cl100k_base", "llama3", "qwen3", "deepseek_v3", "glm4", "kimi_k2", "mistral_v3", "gemma3", "phi4", "olmo2")


class Case(Struct, frozen=True):
    """A model behind a provider, and the template and the vocabularies that its server may have."""

    model: str
    template: Template
    vocabularies: tuple[str, ...]
    provider: str = "ollama"
    style: ApiStyle = "openai"


CASES = (
    Case("gpt-4o", templates.openai, ("o200k_base",), "openai"),
    Case("gpt-4", templates.openai, ("cl100k_base",), "openai"),
    Case("gpt-oss:20b", templates.harmony, ("o200k_base",)),
    Case("llama-2-7b-chat", templates.llama2, ("llama2",), "llama.cpp"),
    Case("llama-3-8b", templates.llama3, ("llama3",), "vllm"),
    Case("llama3.1:8b", templates.llama31, ("llama3",)),
    Case("qwen2:7b", templates.QWEN2, ("qwen2",)),
    Case("qwen2.5:7b", templates.QWEN25, ("qwen2",)),
    Case("qwen3:8b", templates.QWEN3, ("qwen3",)),
    Case("deepseek-chat", templates.deepseek, ("deepseek_v3",), "deepseek"),
    Case("z-ai/glm-4.5", templates.glm, ("glm4",), "openrouter"),
    Case("moonshotai/kimi-k2", templates.kimi, ("kimi_k2",), "openrouter"),
    Case("kimi-k2", templates.kimi, ("kimi_k2",), "own", "anthropic"),
    Case("mistral:7b", templates.MISTRAL_1, ("mistral_v1", "mistral_v2")),
    Case("mistral-nemo", templates.NEMO, ("mistral_v3",)),
    Case("mistral-small3.1", templates.MISTRAL, ("mistral_v3",)),
    Case("gemma3:4b", templates.gemma, ("gemma3",)),
    Case("gemma-2-9b", templates.gemma, ("gemma2",), "llama.cpp"),
    Case("phi4", templates.phi, ("phi4",)),
    Case("claude-opus-4-8", templates.anthropic, MODERN, "anthropic", "anthropic"),
    Case("anthropic/claude-3-haiku", templates.anthropic, MODERN, "openrouter"),
    Case("google/gemini-2.5-pro", templates.gemma, ("gemma3",), "openrouter"),
    Case("my-own-model", templates.llama2, (*MODERN, "llama2", "mistral_v1"), "llama.cpp"),
    Case("my-own-model", templates.harmony, MODERN, "vllm"),
    Case("my-own-model", templates.llama31, MODERN, "own", "anthropic"),
)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with run_server() as running:
        yield running


@pytest.fixture(autouse=True)
def isolate_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_proxies(monkeypatch)
    monkeypatch.setenv("TEST_KEY", "sk-test")


def choose(case: Case, server: ModelServer) -> ModelChoice:
    url = server.url.removesuffix("/v1") if case.style == "anthropic" else server.url
    config = ProviderConfig(name=case.provider, api_style=case.style, base_url=url, key_variable="TEST_KEY")
    return ModelChoice(replace(config, supports_schema=False), case.model, DEFAULT_OPTIONS)


def read_by_server(server: ModelServer, choice: ModelChoice, call: ModelCall, case: Case, vocabulary: str) -> int:
    """What the server reports for a call."""
    server.script = counting_answer(
        case.style, lambda request: count_tokens(read_turns(request), case.template, vocabulary)
    )

    async def run() -> int:
        provider = make_provider(choice.provider)
        try:
            answer = await fetch_response(provider, call, retry_policy=LOCAL_RETRY_POLICY)
        finally:
            await provider.aclose()
        assert answer.usage.reported_by_provider
        return answer.usage.input_tokens

    return asyncio.run(run())


def assemble(request: Request, fragments: Sequence[Fragment]) -> Result | None:
    """A result; None where the window is too small for what must be in it."""
    engine = Engine(settings=BOUNDLESS, recipes=ALL_RECIPES, tokenizer_for=load_tokenizer, model_for=find_counted_model)
    try:
        return engine.assemble(request, fragments=fragments)
    except FabulaError as refusal:
        if refusal.code not in REFUSALS:
            raise
        return None


def check(
    server: ModelServer, case: Case, request: Request, fragments: Sequence[Fragment], schema: dict[str, object] | None
) -> None:
    choice = choose(case, server)
    attachments = tuple(replace(one, reference="") for one in request.attachments)
    sized = size_request(replace(request, attachments=attachments), choice)
    result = assemble(reserve_schema(sized, schema, "en"), fragments)
    if result is None:
        return
    call = ModelCall(
        model=case.model, messages=tuple(result.messages), schema=schema, input_tokens=result.token_count, max_tokens=1
    )
    for vocabulary in case.vocabularies:
        read = read_by_server(server, choice, call, case, vocabulary)
        assert read <= result.token_count <= result.model.window - result.budget.reply, (case.model, vocabulary)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.provider}-{case.model}-{case.style}")
def test_what_the_server_reads_never_exceeds_what_was_planned(case: Case, server: ModelServer) -> None:
    @settings(max_examples=12 if len(case.vocabularies) < 3 else 6, deadline=None, derandomize=True, database=None)
    @given(requests(), fragment_lists(), st.sampled_from((None, *ANSWER_SCHEMAS.values(), VERDICT_SCHEMA)))
    def run(request: Request, fragments: list[Fragment], schema: dict[str, object] | None) -> None:
        check(server, case, request, fragments, schema)

    run()
