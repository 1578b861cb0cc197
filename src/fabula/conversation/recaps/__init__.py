"""Recaps: summaries of rounds, and the recap list that is made from them (cnv-6)."""
