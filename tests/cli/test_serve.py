"""`fabula serve` as a process: the link, the token, and an orderly end."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from fabula.cli.serve import serve as serve_command
from fabula.core.errors import FabulaError
from fabula.core.messages import show
from fabula.server.address import ServerAddress
from fabula.server.serving import serve
from fabula.workspace.workspace import Workspace
from tests.cli.processes import read_token, start_fabula


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_prints_a_link_that_opens_it_and_stops_when_asked(tmp_path: Path, number: signal.Signals) -> None:
    data = tmp_path / "data"
    with Workspace.open(data) as workspace:
        workspace.create_project("A Book")
    process = start_fabula("serve", "--port", "0", "--no-open", "--store", str(data), folder=tmp_path)
    assert process.stdout is not None
    link = re.findall(r"http://\S+", process.stdout.readline())[0]
    token = read_token(process)
    base = link.partition("/open/")[0]
    with httpx2.Client(base_url=base, trust_env=False, timeout=30) as browser:
        assert browser.get(link).status_code == 303
        assert [one["title"] for one in browser.get("/api/projects").json()["items"]] == ["A Book"]
    with httpx2.Client(base_url=base, trust_env=False, timeout=30, headers={"Authorization": f"Bearer {token}"}) as one:
        assert one.post("/api/projects", json={"title": "Another"}).status_code == 201
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest.strip(), errors.strip()) == (0, "Stopped.", "")
    with Workspace.open(data) as workspace:
        assert {one.title for one in workspace.projects()} == {"A Book", "Another"}


def test_refusals_and_changes_of_access_are_logged_to_standard_error(tmp_path: Path) -> None:
    process = start_fabula(
        "serve", "--port", "0", "--no-open", "--no-worker", "--store", str(tmp_path / "data"), folder=tmp_path
    )
    assert process.stdout is not None
    base = re.findall(r"http://[^/]+", process.stdout.readline())[0]
    token = read_token(process)
    try:
        with httpx2.Client(base_url=base, trust_env=False, timeout=30) as one:
            secrets = {"account": "ann", "password": "PLANTED-PASSWORD"}
            assert one.post("/api/session", json=secrets).status_code == 401
            assert one.get("/api/projects", headers={"Authorization": "Bearer PLANTED-KEY"}).status_code == 401
            own = {"Authorization": f"Bearer {token}"}
            assert one.post("/api/accounts", json={"account": "ann"}, headers=own).status_code == 201
            upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x", **own}
            assert one.get("/healthz", headers=upgrade).status_code == 200
            assert one.post("/api/session", json=secrets).status_code == 401
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    lines = [line.split(" ", 1)[1] for line in errors.strip().splitlines()]
    assert lines[:2] == [
        "warning fabula.security sign-in refused: account=- address=127.0.0.1",
        "warning fabula.security refused: status=401 code=ACCESS_REQUIRED user=- address=127.0.0.1 method=POST "
        "route=/api/session",
    ]
    assert lines[2:] == [
        "warning fabula.security refused: status=401 code=ACCESS_REQUIRED user=- address=127.0.0.1 method=GET route=-",
        "info fabula.security account added: ann by owner",
        "warning fabula.security sign-in refused: account=ann address=127.0.0.1",
        "warning fabula.security refused: status=401 code=ACCESS_REQUIRED user=- address=127.0.0.1 method=POST "
        "route=/api/session",
    ]
    assert not re.search(f"PLANTED|{re.escape(token)}", errors)


def test_a_port_that_is_taken_is_refused_in_plain_words(tmp_path: Path) -> None:
    def try_again(address: ServerAddress) -> None:
        with Workspace.open(tmp_path / "data") as other:
            serve(other, port=int(address.url.rpartition(":")[2]), on_ready=print)

    with (
        Workspace.open(tmp_path / "data") as workspace,
        pytest.raises(FabulaError, match="Choose another one") as refused,
    ):
        serve(workspace, port=0, worker=False, on_ready=try_again)
    assert "FABULA_PORT=8601" in show(refused.value.message, "en", on_command_line=True)  # `make run` takes no --port


def test_a_file_sets_what_no_flag_sets_and_the_samples_are_there_once(tmp_path: Path) -> None:
    file = tmp_path / "server.env"
    file.write_text("FABULA_PORT=0\nFABULA_HOSTS=stories.example\n")
    words = (
        "serve",
        "--settings",
        str(file),
        "--samples",
        "--no-open",
        "--no-worker",
        "--store",
        str(tmp_path / "data"),
    )
    for _ in range(2):
        process = start_fabula(*words, "--store", str(tmp_path / "data"), folder=tmp_path)
        assert process.stdout is not None
        base = re.findall(r"http://[^/]+", process.stdout.readline())[0]
        token = read_token(process)
        headers = {"Authorization": f"Bearer {token}", "Host": "stories.example"}
        listed = httpx2.get(f"{base}/api/projects", headers=headers, trust_env=False, timeout=30)
        assert len(listed.json()["items"]) == 2
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0


def test_the_token_of_a_service_is_in_a_private_file_as_long_as_it_runs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    process = start_fabula("serve", "--port", "0", "--no-open", "--no-worker", "--store", str(data), folder=tmp_path)
    assert process.stdout is not None
    link, named = process.stdout.readline(), process.stdout.readline()
    (file,) = data.glob("token-*")
    assert named.strip().endswith(str(file))
    assert file.name == f"token-{link.partition('/open/')[0].rpartition(':')[2]}"
    token = file.read_text().strip()
    assert file.stat().st_mode & 0o777 == 0o600
    process.send_signal(signal.SIGTERM)
    rest, errors = process.communicate(timeout=60)
    assert len(token) == 43
    assert token not in link + named + rest + errors
    assert not file.exists()


def test_a_terminal_is_shown_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    address = ServerAddress("http://127.0.0.1:8600", "http://127.0.0.1:8600/open/x", "the-token", True)

    def run_no_server(workspace: Workspace, *, on_ready: Callable[[ServerAddress], None], **_: object) -> None:
        on_ready(address)

    monkeypatch.setattr("fabula.server.serving.serve", run_no_server)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("fabula.cli.serve.say", lambda text, **values: said.append(text.format(**values)))
    serve_command(no_open=True, store=str(tmp_path / "data"))
    assert said[:2] == [
        "Programs send this token: the-token",
        "Open this link; it works once: http://127.0.0.1:8600/open/x",
    ]
    assert list((tmp_path / "data").glob("token-*")) == []


def test_without_a_display_no_browser_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\nsleep 60\n")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    process = start_fabula("serve", "--port", "0", "--store", str(tmp_path / "data"), folder=tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert not (tmp_path / "started").exists()
