"""What the server offers: one table of routes for each subject, and all of them together."""

from fabula.server.routes import (
    channels,
    codex,
    constraints,
    context,
    conversations,
    files,
    jobs,
    lorebooks,
    manuscript,
    memory,
    people,
    presets,
    projects,
    reading,
    runs,
    settings,
    streams,
)
from fabula.server.routes.route import Route

ROUTES: tuple[Route, ...] = (
    *projects.ROUTES,
    *manuscript.ROUTES,
    *reading.ROUTES,
    *codex.ROUTES,
    *constraints.ROUTES,
    *memory.ROUTES,
    *conversations.ROUTES,
    *presets.ROUTES,
    *lorebooks.ROUTES,
    *context.ROUTES,
    *runs.ROUTES,
    *jobs.ROUTES,
    *settings.ROUTES,
    *channels.ROUTES,
    *streams.ROUTES,
    *files.ROUTES,
    *people.ROUTES,
)

__all__ = ["ROUTES", "Route"]
