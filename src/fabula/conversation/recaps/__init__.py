"""Recaps: summaries of rounds, and the recap list that is made from them (cnv-6)."""

from fabula.conversation.recaps.model import RecapEntry, RecapInput, RecapRules, WriteRecap

__all__ = ["RecapEntry", "RecapInput", "RecapRules", "WriteRecap"]
