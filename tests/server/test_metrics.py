"""Metrics: what is counted, who may see it, and that no label says anything about a story."""

from __future__ import annotations

import re

import httpx2
import pytest

from fabula.access.model import Membership, Role
from fabula.server.access import Access
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import run_server


def read_value(text: str, name: str) -> float:
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if re.match(rf"{name}(\{{|\s)", line))


def ask_for_prompt(client: httpx2.Client, story: ProjectHandle) -> None:
    asked = {"projectId": story.id, "documentId": "1", "cursorPosition": 40, "skillId": "continue"}
    assert client.post(f"/api/projects/{story.id}/assemble", json=asked).status_code == 200


def test_metrics_count_requests_assemblies_jobs_and_the_lag_of_the_loop(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    before = client.get("/metrics").text
    for _ in range(3):
        ask_for_prompt(client, story)
    client.get("/api/projects/no such book")
    after = client.get("/metrics").text
    assert read_value(after, "fabula_assemblies_total") - read_value(before, "fabula_assemblies_total") == 3
    assert read_value(after, "fabula_prompt_tokens_total") > read_value(before, "fabula_prompt_tokens_total")
    requests = "fabula_http_requests_total"
    assert f'{requests}{{method="POST",route="/api/projects/{{project}}/assemble",status="200"}} 3.0' in after
    assert 'status="404"' in after
    for name in ("event_loop_lag_seconds", "requests_waiting", "model_tokens_total", "model_cached_share"):
        assert f"# HELP fabula_{name} " in after or f"# HELP fabula_{name.removesuffix('_total')}" in after
    assert 'fabula_jobs{state="queued"}' in after
    assert read_value(after, "fabula_http_request_seconds_count") > 4


def test_no_label_has_a_title_a_name_or_an_id(client: httpx2.Client, story: ProjectHandle) -> None:
    ask_for_prompt(client, story)
    client.get("/api/projects/The Lantern Coast/codex/Mara Venn")
    client.get("/no/such/Secret")
    text = client.get("/metrics").text
    for word in ("Lantern", "Mara", "Secret", story.id):
        assert word not in text


def test_labels_are_patterns_of_addresses_however_many_are_asked_for(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    bases: tuple[str, ...] = (
        "",
        "/api",
        "/api/projects",
        f"/api/projects/{story.id}/codex",
        "/api/channels",
        "/assets",
        "/open",
    )
    bases += ("/v1", "/v1/models", "/v1/models/fabula", "/mcp", "/metrics", "/healthz")
    counts = []
    for part in ("one", "two", "three"):
        for base in bases:
            for method in ("GET", "POST", "HEAD", part.upper()):
                client.request(method, f"{base}/{part}")
        labels = re.findall(r"^fabula_http_requests_total{(.*)}", client.get("/metrics").text, re.MULTILINE)
        assert not [one for one in labels if part in one.lower()]
        counts.append(len(labels))
    assert counts[1] == counts[2]


def test_metrics_are_for_the_owner_unless_a_setting_opens_them(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = {"reader": Access(user="ann", memberships={story.id: Membership(Role.READER)})}
    with run_server(workspace, people) as server, server.client(None) as nobody, server.client("reader") as reader:
        assert (nobody.get("/metrics").status_code, reader.get("/metrics").status_code) == (401, 403)
    monkeypatch.setenv("FABULA_OPEN_METRICS", "true")
    with run_server(workspace) as server, server.client(None) as nobody:
        assert nobody.get("/metrics").status_code == 200
        assert nobody.get("/api/projects").status_code == 401
