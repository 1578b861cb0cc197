"""Modes of conversation: who answers a message, in which order, and with which context (cht-4)."""

from fabula.conversation.modes.model import Announcement, ContextPolicy, Mode, ModeStart, Step, Turn
from fabula.conversation.modes.registry import DEFAULT_MODE, find_mode_name, list_modes, load_mode, load_policy

__all__ = [
    "DEFAULT_MODE",
    "Announcement",
    "ContextPolicy",
    "Mode",
    "ModeStart",
    "Step",
    "Turn",
    "find_mode_name",
    "list_modes",
    "load_mode",
    "load_policy",
]
