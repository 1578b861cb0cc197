"""The context engine: sources, recipes and presets in, one prompt under a token budget out.

It works alone: no store, no server, no model.
"""

from fabula.context.budget import Budget, BudgetProfile, Limits, Share
from fabula.context.continuity import NO_CONTINUITY, Continuity
from fabula.context.engine import DEFAULT_SETTINGS, Engine, EngineSettings
from fabula.context.gather import FunctionSource, Source, StatefulSource
from fabula.context.nearby import Nearby
from fabula.context.recipes import (
    CHARACTER_CHAT,
    CHAT,
    DIGEST,
    NOVEL,
    PLAIN,
    RECIPES,
    Condition,
    InjectionStrategy,
    Node,
    NodeType,
    Preset,
    Recipe,
    UserProfile,
    available_anchors,
)
from fabula.context.render import PromptMessage
from fabula.context.request import Attachment, Grants, HistoryWindow, Principal, Request, SourceRequest
from fabula.context.result import LayerReport, Result
from fabula.context.trace import Reason, Trace, Verdict
from fabula.context.vantage import resolve_vantage
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import LAYERS, Fragment, Layer, Part, Placement, Role, Tier, Visibility
from fabula.core.story import Perspective, Position, Timeline, TimelineEntry, Vantage
from fabula.core.view import Language, Project, View

__all__ = [
    "CHARACTER_CHAT",
    "CHAT",
    "DEFAULT_SETTINGS",
    "DIGEST",
    "LAYERS",
    "NOVEL",
    "NO_CONTINUITY",
    "PLAIN",
    "RECIPES",
    "Attachment",
    "Budget",
    "BudgetProfile",
    "Code",
    "Condition",
    "Continuity",
    "Engine",
    "EngineSettings",
    "FabulaError",
    "Fragment",
    "FunctionSource",
    "Grants",
    "HistoryWindow",
    "InjectionStrategy",
    "Language",
    "Layer",
    "LayerReport",
    "Limits",
    "Nearby",
    "Node",
    "NodeType",
    "Part",
    "Perspective",
    "Placement",
    "Position",
    "Preset",
    "Principal",
    "Project",
    "PromptMessage",
    "Reason",
    "Recipe",
    "Request",
    "Result",
    "Role",
    "Share",
    "Source",
    "SourceRequest",
    "StatefulSource",
    "Tier",
    "Timeline",
    "TimelineEntry",
    "Trace",
    "UserProfile",
    "Vantage",
    "Verdict",
    "View",
    "Visibility",
    "available_anchors",
    "resolve_vantage",
]
