"""Secrets and passwords in keyed requests: done once, and nothing of them is in the store, also no hash."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from fabula.core.errors import Code
from fabula.server.routes import ROUTES
from fabula.server.routes.route import Route
from fabula.workspace.workspace import Workspace
from tests.server.running import RunningServer

KEYED = {"Idempotency-Key": "once"}


def read_store(folder: Path) -> bytes:
    """Everything that the store has on the disk, and what SQLite has not merged yet."""
    return b"".join(one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file())


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("keys", {"label": "a script"}, "secret"),
        ("account/keys", {"label": "a script"}, "secret"),
        ("accounts/ann/link", {}, "path"),
        ("accounts", {"account": "bea", "name": "Bea", "password": "correct horse battery"}, ""),
    ],
)
def test_nothing_of_a_secret_is_kept_for_the_key_of_its_request_and_it_is_done_once(
    server: RunningServer, workspace: Workspace, tmp_path: Path, path: str, body: dict[str, str], field: str
) -> None:
    workspace.people.add("ann")
    sent = msgspec.json.encode(body)
    headers = {**KEYED, "Content-Type": "application/json"}
    with server.client() as client:

        def count() -> int:
            return sum(len(client.get(f"/api/{one}").json()["items"]) for one in ("accounts", "keys"))

        before = count()
        first = client.post(f"/api/{path}", content=sent, headers=headers)
        assert first.status_code == 201, first.text
        made = count()
        assert made == before + (0 if field == "path" else 1)
        not_kept, takes_password = (409, Code.HTTP_KEY_NOT_KEPT.value), "password" in body
        other = not_kept if takes_password else (422, Code.HTTP_KEY_REUSED.value)
        for again, expected in ((sent, not_kept), (sent + b" ", other)):
            refused = client.post(f"/api/{path}", content=again, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == expected
        assert count() == made
    stored = read_store(tmp_path / "data")
    secret = first.json()[field].rpartition("/")[2].encode() if field else body["password"].encode()
    assert len(secret) > 15
    assert b"once" in stored
    assert secret not in stored
    if takes_password:
        names = [one.name.encode() for one in ROUTES if one.hashes_password]
        for one in (sent, *(b"\0".join((name, f"/api/{path}".encode(), b"", sent)) for name in names)):
            assert sha256(one).hexdigest().encode() not in stored


def test_every_route_that_takes_or_returns_a_secret_keeps_nothing() -> None:
    def find_fields(route: Route) -> set[str]:
        kinds = (route.request_type, route.answer.kind)
        return {name for kind in kinds for name in getattr(kind, "__struct_fields__", ())}

    posts = [one for one in ROUTES if one.method == "POST"]
    named = {one.name for one in posts if find_fields(one) & {"password", "old_password", "secret"}}
    assert named | {"people.create_link"} == {one.name for one in posts if one.has_secret}
