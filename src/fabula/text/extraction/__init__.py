"""Extraction: propose codex entries from an existing manuscript, without a model (cdx-7)."""
