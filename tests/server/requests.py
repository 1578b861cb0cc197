"""Requests of routes for tests: the example of a route, for any project."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx2

from fabula.server.openapi import choose_path_example
from fabula.server.routes.route import PROJECT, Route


def make_url(route: Route, project: str | None = None) -> str:
    """The address of a route with the examples of its parameters."""
    path = f"/api{route.path}"
    for name in route.parameters:
        value = project if name == PROJECT and project is not None else choose_path_example(route, name)
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return path


def send(client: httpx2.Client, route: Route, project: str | None = None) -> httpx2.Response:
    """Send the example of a route, perhaps for another project."""
    example = dict(route.example)
    if project is not None:
        example |= {name: project for name in ("projectId", "project_id") if name in example}
    sent: dict[str, Any] = {"params": example} if route.method == "GET" else {"json": example}
    return client.request(route.method, make_url(route, project), **sent)
