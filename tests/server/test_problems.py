"""Refusals: every code has a status, every error is a problem with a code, in the language that was asked for."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import Code
from fabula.server.problems import STATUSES, choose_language, describe_exception
from fabula.workspace.project import ProjectHandle

PACKAGE = Path(__file__).parents[2] / "src" / "fabula"


def list_warning_codes() -> set[Code]:
    """The codes below the comment that says so: they stand beside an answer, and are never refusals."""
    source = (PACKAGE / "core" / "errors.py").read_text("utf-8").partition("# Warnings beside an answer")[2]
    return {Code(value) for value in re.findall(r'^    [A-Z_]+ = "([A-Z_]+)"$', source, re.MULTILINE)}


def test_every_code_of_a_refusal_has_one_status_and_no_warning_has() -> None:
    warnings = list_warning_codes()
    assert len(warnings) > 15
    assert set(STATUSES) == set(Code) - warnings


@pytest.mark.parametrize(
    ("accept", "language"),
    [("", "en"), ("zh-CN,zh;q=0.9", "zh"), ("fr, zh;q=0.5, en;q=0.4", "zh"), ("en;q=0.1,zh;q=x", "en"), ("*", "en")],
)
def test_the_language_is_the_best_that_fabula_speaks(accept: str, language: str) -> None:
    assert choose_language(accept) == language


@given(st.text())
def test_any_accept_language_gives_a_language(accept: str) -> None:
    assert choose_language(accept) in ("en", "zh")


def test_a_refusal_is_in_the_language_that_was_asked_for(client: httpx2.Client, story: ProjectHandle) -> None:
    url = f"/api/projects/{story.id}/codex/Nobody-of-this-name"
    english, chinese = client.get(url), client.get(url, headers={"Accept-Language": "zh"})
    assert english.json()["code"] == chinese.json()["code"] == "CODEX_INVALID" or english.status_code == 404
    assert english.json()["detail"] != chinese.json()["detail"]
    assert re.search(r"[\u4e00-\u9fff]", chinese.json()["detail"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_refusal_over_http_names_the_field_and_no_option_of_the_command_line(
    client: httpx2.Client, story: ProjectHandle, language: str
) -> None:
    first, second = client.get(f"/api/projects/{story.id}/chapters").json()["items"][:2]
    url, headers = f"/api/projects/{story.id}/chapters/{first['id']}/title", {"Accept-Language": language}
    refused = client.put(url, json={"title": second["title"]}, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (409, "STORE_DUPLICATE")
    assert "`allowDuplicate`" in refused.json()["detail"]
    assert "--" not in refused.json()["detail"]
    missing = client.post(f"/api/projects/{story.id}/runs/last/accept", headers=headers)
    assert missing.status_code == 404
    assert "fabula " not in missing.json()["detail"]


def test_equal_titles_are_refused_by_one_rule_and_an_ambiguous_one_names_the_ids(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    base = f"/api/projects/{story.id}/chapters"
    first, second = client.get(base).json()["items"][:2]
    same = {"title": first["title"]}
    for refused in (
        client.post(base, json=same),
        client.put(f"{base}/{second['id']}/title", json=same),
        client.post(f"{base}/split", json={"place": f"{second['id']}@10", **same}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "STORE_DUPLICATE")
    part = client.post(base, json={"title": "Part One", "kind": "part"}).json()["id"]
    inside = client.post(base, json={**same, "into": part})  # whose part tells it apart
    assert inside.status_code == 201, inside.text
    allowed = client.post(base, json={**same, "allowDuplicate": True})
    assert allowed.status_code == 201, allowed.text
    for untitled in range(2):
        assert client.post(base, json={"title": ""}).status_code == 201, untitled
    ambiguous = client.get(f"{base}/{first['title']}")
    assert ambiguous.status_code == 404
    assert "more than one chapter" in ambiguous.json()["detail"]
    assert set(ambiguous.json()["candidates"]) == {first["id"], inside.json()["id"], allowed.json()["id"]}
    for ident in ambiguous.json()["candidates"]:
        assert client.get(f"{base}/{ident}").json()["title"] == first["title"]


def test_an_unexpected_exception_is_sent_and_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        try:
            raise RuntimeError("the heir is Mara")
        except RuntimeError as error:
            problem = describe_exception(error)
    assert (problem.status, problem.code) == (500, "SERVER_FAILED")
    assert "heir" not in problem.detail
    assert "heir" not in caplog.text
    assert str(problem.reference) in caplog.text


def test_an_unknown_field_is_refused_with_the_nearest_one(client: httpx2.Client, story: ProjectHandle) -> None:
    codex = f"/api/projects/{story.id}/codex"
    for answer in (
        client.post(codex, json={"name": "Odile", "descriptoin": "x"}),
        client.get(codex, params={"kidn": "character"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
        assert "nearest" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"name": "x"}', "text/plain", 415),
        (b'{"name": "x"}', "", 415),
        (b"[" * 100_000, "application/json", 400),
        (b'{"name": "x", "details": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}", "application/json", 400),
        (b'{"name": "' + b"x" * 11_000_000 + b'"}', "application/json", 413),
        (b'{"name": 7}', "application/json", 400),
        (b'{"name": "\\ud800"}', "application/json", 400),
        (b"null", "application/json", 400),
        (b"", "application/json", 400),
    ],
)
def test_a_body_that_cannot_be_read_is_a_coded_refusal(
    client: httpx2.Client, story: ProjectHandle, body: bytes, content_type: str, status: int
) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    answer = client.post(f"/api/projects/{story.id}/codex", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.json()["code"] in {code.value for code in Code}


@pytest.mark.parametrize(
    "path",
    [
        "/api/projects/..%2F..%2Fetc%2Fpasswd",
        "/api/projects/%00",
        "/api/projects/a/codex/%ff",
        "/api/%2e%2e/x",
        "/api//x",
        "/api/projects/",  # an address has one spelling
        "/api/projects//",
        "/mcp/",
        "/api/projects/a%2F",
    ],
)
def test_tricks_with_paths_are_not_found(client: httpx2.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_method_that_an_address_does_not_have_is_refused_with_a_code(client: httpx2.Client) -> None:
    answer = client.delete("/api/projects")
    assert (answer.status_code, answer.json()["code"]) == (405, "HTTP_METHOD_UNKNOWN")
