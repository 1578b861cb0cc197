"""Formats: stories in and out."""
