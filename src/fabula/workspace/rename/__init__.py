"""Rename: change a name everywhere in a project, with preview and undo (man-4)."""
