"""Generated requests by the OpenAPI description, with and without rights: no 5xx, and no answer it does not describe.

`FABULA_SCHEMA_CASES` is the number of requests; without it a slice of them is sent.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from math import ceil
from random import Random
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fabula.access.model import Role
from fabula.context.request import Principal
from fabula.server.openapi import PATH_EXAMPLES
from fabula.server.problems import STATUSES
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.postgres import run_postgres
from tests.server.running import OWNER_TOKEN, RunningServer, run_server
from tests.server.stories import prepare
from tests.server.test_matrix import make_access

CASES = int(os.environ.get("FABULA_SCHEMA_CASES", "500"))
SEED = 18
CALLERS = {  # and the engine of their store, with the share of the requests; the owner deletes things, and is last
    ("nobody", "sqlite"): 0.05,
    ("reader", "sqlite"): 0.15,
    ("player", "sqlite"): 0.2,
    ("owner", "sqlite"): 0.4,
    ("owner", "postgres"): 0.2,
}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
ENDLESS = {"events.follow"}  # streams without an end
ORDER = {"get": 0, "put": 1, "patch": 2, "post": 3, "delete": 4}  # what is deleted, nobody can ask for later


class Fuzzed:
    """A server with a story, its description, and a token for each caller."""

    def __init__(self, server: RunningServer, engine: str, project: str) -> None:
        self.url, self.engine, self.project = server.base_url, engine, project
        with server.client() as client:
            document = client.get("/api/openapi.json").json()
        loaded = schemathesis.openapi.from_dict(document)
        results: Any = loaded.get_all_operations()
        found: list[APIOperation[Any, Any, Any, Any]] = [one.ok() for one in results]
        found = [one for one in found if one.definition.raw["operationId"] not in ENDLESS]
        self.operations = sorted(found, key=lambda one: ORDER[one.method])


@pytest.fixture(scope="module", params=("sqlite", "postgres"))
def fuzzed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    folder = tmp_path_factory.mktemp("schema")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("FABULA_DATA", str(folder))
        is_file = request.param == "sqlite"
        address = str(lay(folder / "data")) if is_file else stack.enter_context(run_postgres()).get_uri()
        workspace = stack.enter_context(Workspace.open(address))
        project = prepare(workspace).id
        people = {role.value: make_access(role, project) for role in (Role.READER, Role.PLAYER)}
        for one in people:  # a model on this machine would be asked, and take its time
            workspace.settings(principal=Principal(user=one)).set("llm.provider", "clipboard", scope="person")
        yield Fuzzed(stack.enter_context(run_server(workspace, people)), request.param, project)


@pytest.mark.parametrize("caller", ["nobody", "reader", "player", "owner"])
def test_every_answer_to_a_generated_request_is_described(caller: str, fuzzed: Fuzzed) -> None:
    share = CALLERS.get((caller, fuzzed.engine))
    if share is None:
        pytest.skip("rights do not depend on the engine")
    operations = fuzzed.operations
    count = ceil(CASES * share / len(operations))
    if count == 1:  # a slice
        chosen = Random(caller + fuzzed.engine).sample(range(len(operations)), ceil(CASES * share))
        operations = [operations[index] for index in sorted(chosen)]
    token = {"owner": OWNER_TOKEN, "nobody": None}.get(caller, caller)
    faults: list[str] = []
    statuses: Counter[int] = Counter()
    with requests.Session() as session:
        session.trust_env = False
        if token is not None:
            session.headers["Authorization"] = f"Bearer {token}"
        missing = 0  # of operations that cannot be asked in so many ways; the ones behind them are asked in more
        for number, operation in enumerate(operations):
            cases = generate(operation, count + missing, first=number)
            missing += count - len(cases)
            for case in cases:
                name_things(case, fuzzed.project)
                answer = case.call(base_url=fuzzed.url, session=session, timeout=60)
                statuses[answer.status_code] += 1
                fault = find_fault(case, answer)
                if fault:
                    faults.append(f"{operation.label}: {fault}")
    print(f"{caller}, {fuzzed.engine}: {statuses.total()} cases, {dict(sorted(statuses.items()))}")
    assert statuses.total() >= CASES * share
    assert not faults, "\n".join(faults)


def generate(operation: APIOperation[Any, Any, Any, Any], count: int, *, first: int) -> list[Case[Any]]:
    """Requests of an operation by the schema and, every other one, against it; fewer where there are no more."""
    modes = [GenerationMode.NEGATIVE, GenerationMode.POSITIVE]
    if first % 2:
        modes.reverse()
    cases = collect(operation, ceil(count / 2), modes[0], first)
    return cases + collect(operation, count - len(cases), modes[1], first)


def collect(
    operation: APIOperation[Any, Any, Any, Any], count: int, mode: GenerationMode, first: int
) -> list[Case[Any]]:
    """Requests of one kind; none where nothing is against the schema, because a request says nothing."""
    cases: list[Case[Any]] = []
    if not count:
        return cases

    @seed(SEED + first)
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def keep(case: Case[Any]) -> None:
        cases.append(case)

    with suppress(Unsatisfiable):
        keep()
    return cases[:count]


def name_things(case: Case[Any], project: str) -> None:
    """Name things that exist in three of four requests, and what the example says in some fields, to get further."""
    chance = Random(repr((case.path_parameters, case.query, case.body)))
    if chance.random() < 0.25:
        return
    described: Mapping[str, Any] = case.operation.definition.raw
    names: Mapping[str, str] = {**PATH_EXAMPLES, "project": project}
    for name in case.path_parameters or ():
        if name in names:
            case.path_parameters[name] = names[name]
    examples = {one["name"]: one["example"] for one in described.get("parameters", ()) if "example" in one}
    for name in case.query or ():
        if name in examples and chance.random() < 0.5:
            case.query[name] = examples[name]
    if isinstance(case.body, dict):
        example = described["requestBody"]["content"].get("application/json", {}).get("example", {})
        for name in case.body:
            if name in ("projectId", "project_id", "thread_slug"):
                case.body[name] = project
            elif name in example and chance.random() < 0.5:
                case.body[name] = example[name]


def find_fault(case: Case[Any], answer: Any) -> str:
    """What is wrong with an answer; empty where nothing is."""
    try:
        case.validate_response(answer, checks=CHECKS)
    except BaseExceptionGroup as found:
        return f"{case.body!r:.300} {found.exceptions}"[:900] + repr(answer.content[:300])
    if answer.status_code >= 400:
        problem = answer.json()
        problem = problem.get("error", problem)
        known = {code.value: status for code, status in STATUSES.items()}
        if known.get(problem["code"]) != answer.status_code:
            return f"{answer.status_code} with {problem}"
    return ""
