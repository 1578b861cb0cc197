"""Files over HTTP: what goes out comes in again, and a name is only a name."""

from __future__ import annotations

import httpx2
import pytest

from fabula.workspace.project import ProjectHandle


def test_a_save_that_was_fetched_is_inspected_and_loaded_beside_the_project(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    saved = client.get(f"/api/projects/{story.id}/save", params={"withPerson": False})
    assert saved.headers["content-disposition"] == "attachment; filename*=UTF-8''the-lantern-coast.fabula"
    name = {"fileName": "book.fabula"}
    found = client.post("/api/saves/inspect", params=name, content=saved.content).json()
    assert found["title"] == "The Lantern Coast"
    loaded = client.post(
        "/api/saves", params={**name, "beside": True, "checksum": found["checksum"]}, content=saved.content
    )
    assert loaded.status_code == 201, loaded.text
    again = client.get(f"/api/projects/{loaded.json()['project']}/codex").json()
    assert again == client.get(f"/api/projects/{story.id}/codex").json()


@pytest.mark.parametrize("ending", ["md", "txt", "epub", "docx"])
def test_a_manuscript_that_was_fetched_is_imported_as_a_new_project(
    client: httpx2.Client, story: ProjectHandle, ending: str
) -> None:
    text = client.get(f"/api/projects/{story.id}/manuscript", params={"format": ending})
    assert text.status_code == 200
    name = {"fileName": f"book.{ending}", "title": "Once more"}
    made = client.post("/api/imports", params=name, content=text.content)
    assert made.status_code == 201, made.text
    assert made.json()["characters"] > 10_000


@pytest.mark.parametrize(
    "name", ["", "book", "../book.md", "a/b.md", "/etc/passwd.md", "C:\\b.md", "b\x00.md", "x" * 200 + ".md"]
)
def test_a_file_name_with_a_folder_is_refused(client: httpx2.Client, name: str) -> None:
    refused = client.post("/api/imports", params={"fileName": name}, content=b"# One\n")
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")


def test_a_format_that_there_is_not_is_refused(client: httpx2.Client, story: ProjectHandle) -> None:
    for ending in ("exe", "../x", "md/../../x"):
        refused = client.get(f"/api/projects/{story.id}/manuscript", params={"format": ending})
        assert 400 <= refused.status_code < 500, refused.text


def test_a_file_that_is_too_large_is_refused(client: httpx2.Client) -> None:
    refused = client.post("/api/imports", params={"fileName": "b.md"}, content=b"x" * 50_000_001)
    assert (refused.status_code, refused.json()["code"]) == (413, "HTTP_BODY_TOO_LARGE")
