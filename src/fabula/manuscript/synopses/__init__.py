"""Synopses: chapters in short, and which of them enter a prompt (cdx-6)."""

__all__ = ["chapters", "editing", "plan", "source"]  # modules: importing them all takes a while
