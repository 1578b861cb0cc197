"""Recaps: summaries of rounds, and the recap list that is made from them (cnv-6)."""

from typing import TYPE_CHECKING

from fabula.conversation.recaps.model import RecapEntry, RecapInput, RecapRules, WriteRecap
from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.conversation.recaps.update import refresh_recaps

__all__ = ["RecapEntry", "RecapInput", "RecapRules", "WriteRecap", "refresh_recaps"]

__getattr__ = import_lazily(__name__, {"refresh_recaps": "fabula.conversation.recaps.update"})
