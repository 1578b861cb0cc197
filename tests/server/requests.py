"""Requests of routes for tests: the example of a route, for any project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from fabula.server.openapi import choose_path_example
from fabula.server.routes.route import PROJECT, Route

UPLOADS = {
    "chat_files.import_files": (
        "chat.jsonl",
        b'{"user_name": "Ann", "character_name": "Bo"}\n{"name": "Ann", "is_user": true, "mes": "Hello."}\n',
    ),
    "lorebooks.import_file": ("lore.json", b'{"entries": {"0": {"uid": 0, "key": ["brig"], "content": "Two masts."}}}'),
    "participants.import_card": (
        "card.json",
        b'{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Dov", "description": "A cook."}}',
    ),
    "workspace.inspect_save": ("book.fabula", b"no save"),
    "workspace.load_save": ("book.fabula", b"no save"),
    "workspace.update_manuscript_of_project": ("book.md", b"# The Morning Duty\n\nShe lit the lamp.\n"),
}


def make_url(route: Route, project: str | None = None) -> str:
    """The address of a route with the examples of its parameters."""
    path = f"/api{route.path}"
    for name in route.parameters:
        value = project if name == PROJECT and project is not None else choose_path_example(route, name)
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return path


def send(
    client: httpx2.Client, route: Route, project: str | None = None, headers: Mapping[str, str] | None = None
) -> httpx2.Response:
    """Send the example of a route, perhaps for another project."""
    example = dict(route.example)
    if project is not None:
        names = ("projectId", "project_id", "thread_slug")
        example |= {name: project for name in names if name in example}
    if route.file == "upload":
        name, data = UPLOADS.get(route.name, ("book.md", b"# One\n\nShe lit the lamp.\n"))
        params = {**example, "fileName": name}
        return client.request(route.method, make_url(route, project), params=params, content=data, headers=headers)
    sent: dict[str, Any] = {"params": example} if route.method == "GET" else {"json": example}
    return client.request(route.method, make_url(route, project), headers=headers, **sent)
