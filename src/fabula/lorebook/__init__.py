"""Imported world books."""
