"""Recaps: summaries of rounds, and the recap list made from them (cnv-6)."""
