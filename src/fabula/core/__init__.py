"""The types every package shares: fragments, layers, positions in the story, project views, error codes."""

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import LAYERS, Fragment, Layer, Part, Placement, Role, Tier, Visibility
from fabula.core.story import Perspective, Position, Timeline, TimelineEntry, Vantage
from fabula.core.view import Language, Project, View

__all__ = [
    "LAYERS",
    "Code",
    "FabulaError",
    "Fragment",
    "Language",
    "Layer",
    "Part",
    "Perspective",
    "Placement",
    "Position",
    "Project",
    "Role",
    "Tier",
    "Timeline",
    "TimelineEntry",
    "Vantage",
    "View",
    "Visibility",
]
