"""Extraction: propose codex entries from a manuscript (cdx-7)."""
