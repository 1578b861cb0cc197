"""Bounded readers for files that somebody else made."""
