"""Modes of conversation: who answers a message, in which order, and with which context (cht-4)."""

from typing import TYPE_CHECKING

from fabula.conversation.modes.model import Announcement, ContextPolicy, Mode, ModeStart, Step, Turn
from fabula.conversation.modes.registry import DEFAULT_MODE, find_mode_name, list_modes, load_mode
from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.conversation.modes.werewolf import SEER, WEREWOLF, WerewolfMode

__all__ = [
    "DEFAULT_MODE",
    "SEER",
    "WEREWOLF",
    "Announcement",
    "ContextPolicy",
    "Mode",
    "ModeStart",
    "Step",
    "Turn",
    "WerewolfMode",
    "find_mode_name",
    "list_modes",
    "load_mode",
]

__getattr__ = import_lazily(
    __name__, dict.fromkeys(("SEER", "WEREWOLF", "WerewolfMode"), "fabula.conversation.modes.werewolf")
)
