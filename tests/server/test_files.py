"""Files over HTTP: what goes out comes in again, and a name is only a name."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from importlib import resources
from io import BytesIO
from pathlib import Path
from tempfile import gettempdir

import httpx2
import pytest

from fabula.formats import bounded_import
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


def make_zip(files: Mapping[str, str | bytes]) -> bytes:
    """A ZIP file with these files, whatever their names are."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def read_sample() -> dict[str, str | bytes]:
    """The files of the project folder of a sample."""
    folder = Path(str(resources.files("fabula") / "samples" / "lantern_coast"))
    return {str(one.relative_to(folder)): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


@pytest.mark.parametrize("top", ["", "my-story/"])
def test_a_project_folder_as_a_zip_file_is_imported_as_a_whole_project(
    client: httpx2.Client, story: ProjectHandle, top: str
) -> None:
    packed = make_zip({top + name: content for name, content in read_sample().items()})
    made = client.post("/api/imports", params={"fileName": "coast.zip", "title": "Once more"}, content=packed)
    assert made.status_code == 201, made.text
    for part in ("codex", "constraints", "chapters"):
        copy = client.get(f"/api/projects/{made.json()['projectId']}/{part}").json()["items"]
        own = client.get(f"/api/projects/{story.id}/{part}").json()["items"]
        assert [one["id"] for one in copy] == [one["id"] for one in own] != []


def test_a_zip_file_with_chapters_that_its_project_does_not_list_says_which(client: httpx2.Client) -> None:
    files: dict[str, str | bytes] = {
        "project.toml": PROJECT_TOML.format(file="chapters/one.md"),
        "README.md": "About it.",
        "chapters/one.md": "# One\n\nShe lit the lamp.\n",
        "chapters/two.md": "# Two\n\nIt went out.\n",
        "chapters/three.TXT": "Three",
        "chapters/map.png": b"\x89PNG",
    }
    made = client.post("/api/imports", params={"fileName": "coast.zip"}, content=make_zip(files))
    assert made.status_code == 201, made.text
    (warning,) = made.json()["warnings"]
    assert "chapters/three.TXT, chapters/two.md." in warning
    listed = {name: content for name, content in files.items() if name in ("project.toml", "chapters/one.md")}
    whole = client.post("/api/imports", params={"fileName": "coast.zip"}, content=make_zip(listed))
    assert whole.json()["warnings"] == []


PROJECT_TOML = '[[chapters]]\nid = "one"\nfile = "{file}"\n'
HOSTILE = {
    "a path outside": ({"project.toml": "title = 'x'", "../../evil.md": "# Evil"}, 400, "IMPORT_UNSAFE"),
    "an absolute path": ({"project.toml": "title = 'x'", "/srv/evil.md": "# Evil"}, 400, "IMPORT_UNSAFE"),
    "a path of Windows": ({"project.toml": "title = 'x'", "a\\..\\..\\evil.md": "# Evil"}, 400, "IMPORT_UNSAFE"),
    "a file outside": ({"project.toml": PROJECT_TOML.format(file="../../../etc/hostname")}, 400, "PROJECT_INVALID"),
    "a file and a folder of one name": ({"project.toml": "title = 'x'", "a": "", "a/b": ""}, 400, "IMPORT_UNREADABLE"),
    "a name that is too long": ({"project.toml": "title = 'x'", "x" * 300: ""}, 400, "IMPORT_UNSAFE"),
    "a bomb": ({"project.toml": PROJECT_TOML.format(file="a"), "a": b"\0" * 60_000_000}, 413, "IMPORT_TOO_LARGE"),
    "too many files": (
        {"project.toml": "title = 'x'", **{f"{one}.md": "" for one in range(6_000)}},
        413,
        "IMPORT_TOO_LARGE",
    ),
    "no TOML": ({"project.toml": "= = ="}, 400, "PROJECT_INVALID"),
}


@pytest.mark.parametrize(("files", "status", "code"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_project_archive_is_refused_and_changes_nothing(
    client: httpx2.Client, files: Mapping[str, str | bytes], status: int, code: str
) -> None:
    before = client.get("/api/projects").json()
    left = {one.name for one in Path(gettempdir()).glob("fabula-project-*")}
    refused = client.post("/api/imports", params={"fileName": "coast.zip"}, content=make_zip(files))
    assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
    assert gettempdir() not in refused.json()["detail"]
    assert client.get("/api/projects").json() == before
    assert {one.name for one in Path(gettempdir()).glob("fabula-project-*")} <= left


def test_a_link_in_a_project_archive_is_refused(client: httpx2.Client) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("project.toml", PROJECT_TOML.format(file="link"))
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/hostname")
    refused = client.post("/api/imports", params={"fileName": "coast.zip"}, content=packed.getvalue())
    assert (refused.status_code, refused.json()["code"]) == (400, "IMPORT_UNSAFE")


def test_a_project_archive_is_read_in_a_process_that_is_killed_when_it_takes_too_long(
    client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_import, "MAX_SECONDS", 0)
    left = {one.name for one in Path(gettempdir()).glob("fabula-project-*")}
    refused = client.post("/api/imports", params={"fileName": "coast.zip"}, content=make_zip(read_sample()))
    assert (refused.status_code, refused.json()["code"]) == (413, "IMPORT_TOO_LARGE")
    assert {one.name for one in Path(gettempdir()).glob("fabula-project-*")} <= left


def test_a_project_archive_is_not_imported_into_a_project(client: httpx2.Client, story: ProjectHandle) -> None:
    name = {"fileName": "coast.zip", "into": story.id}
    refused = client.post("/api/imports", params=name, content=make_zip(read_sample()))
    assert (refused.status_code, refused.json()["code"]) == (400, "IMPORT_UNREADABLE")
    assert "a project of its own" in refused.json()["detail"]


@pytest.mark.parametrize(
    "name", ["", "book", "../book.md", "a/b.md", "/etc/passwd.md", "C:\\b.md", "b\x00.md", "x" * 200 + ".md"]
)
def test_a_file_name_with_a_folder_is_refused(client: httpx2.Client, name: str) -> None:
    refused = client.post("/api/imports", params={"fileName": name}, content=b"# One\n")
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")


def test_a_format_that_there_is_not_is_refused(client: httpx2.Client, story: ProjectHandle) -> None:
    for ending in ("exe", "../x", "md/../../x"):
        refused = client.get(f"/api/projects/{story.id}/manuscript", params={"format": ending})
        assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
        assert "md, markdown, txt, epub, docx" in refused.json()["detail"]


def test_a_file_that_is_too_large_is_refused(client: httpx2.Client) -> None:
    refused = client.post("/api/imports", params={"fileName": "b.md"}, content=b"x" * 50_000_001)
    assert (refused.status_code, refused.json()["code"]) == (413, "HTTP_BODY_TOO_LARGE")
    assert "it may have 50 MB. Divide the file" in refused.json()["detail"]
