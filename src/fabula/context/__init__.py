"""The context engine, usable with nothing else of the house."""

from fabula.context.budget import Budget, Limits, Profile, Share
from fabula.context.continuity import NOTHING, Continuities, Continuity, continuity_key
from fabula.context.engine import Engine, Settings
from fabula.context.gather import Called, Source
from fabula.context.recipes import RECIPES, Injection, Node, Preset, Recipe, available_anchors
from fabula.context.render import Message
from fabula.context.request import Ask, Attachment, Principal, Request
from fabula.context.result import LayerReport, Result
from fabula.context.trace import Reason, Trace, Verdict
from fabula.context.vantage import vantage_of
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part, Placement, Terms, Tier
from fabula.core.story import Eyes, Moment, Position, Timeline, Vantage
from fabula.core.view import Project, View

__all__ = [
    "NOTHING",
    "RECIPES",
    "Ask",
    "Attachment",
    "Budget",
    "Called",
    "Code",
    "Continuities",
    "Continuity",
    "Engine",
    "Eyes",
    "FabulaError",
    "Fragment",
    "Injection",
    "Layer",
    "LayerReport",
    "Limits",
    "Message",
    "Moment",
    "Node",
    "Part",
    "Placement",
    "Position",
    "Preset",
    "Principal",
    "Profile",
    "Project",
    "Reason",
    "Recipe",
    "Request",
    "Result",
    "Settings",
    "Share",
    "Source",
    "Terms",
    "Tier",
    "Timeline",
    "Trace",
    "Vantage",
    "Verdict",
    "View",
    "available_anchors",
    "continuity_key",
    "vantage_of",
]
