"""Fabula: a context engine and writing room for stories made with language models."""

__version__ = "0.1.0"
