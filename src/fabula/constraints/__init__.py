"""Constraints: what the text must not break."""
