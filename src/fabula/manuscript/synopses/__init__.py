"""Synopses: chapters in short, and which of them enter a prompt (cdx-6)."""
