"""HEAD: the status and headers of a GET, without its body."""

from __future__ import annotations

import httpx2
import pytest

from fabula.server.address import LINK_PATH
from fabula.workspace.project import ProjectHandle
from tests.server.running import RunningServer


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/api", "/api/openapi.json", "/api/projects", "/v1/models", "/api/nowhere"]
)
def test_head_has_the_headers_of_get_and_no_body(client: httpx2.Client, path: str) -> None:
    with_body, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (with_body.status_code, b"")
    for name in ("content-type", "content-length", "cache-control", "etag"):
        assert head.headers.get(name) == with_body.headers.get(name)


def test_head_of_a_thing_has_its_version(client: httpx2.Client, story: ProjectHandle) -> None:
    path = f"/api/projects/{story.id}/codex/Mara"
    head = client.head(path)
    assert head.headers["etag"] == client.get(path).headers["etag"]
    assert client.head(path, headers={"If-None-Match": head.headers["etag"]}).status_code == 304


def test_head_of_a_stream_ends(client: httpx2.Client, story: ProjectHandle) -> None:
    head = client.head(f"/api/projects/{story.id}/events")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")
    assert client.get("/healthz").status_code == 200  # on the same connection


def test_head_needs_a_caller_and_uses_up_no_link(server: RunningServer) -> None:
    link = LINK_PATH + server.accounts.make_code()
    with server.client(token=None) as nobody:
        assert nobody.head("/api/projects").status_code == 401
        assert nobody.head(link).status_code == 405
        assert nobody.get(link).status_code == 303
