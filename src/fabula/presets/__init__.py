"""Presets of a project: the user's own prompt messages and where they are injected (inj-1, inj-2, inj-3)."""
