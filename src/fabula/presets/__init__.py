"""Presets of a project: where messages of one's own stand in a prompt."""
