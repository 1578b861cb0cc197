"""Fabula: a context engine and writing room for stories made with language models."""

import logging

logging.getLogger("fabula").addHandler(logging.NullHandler())  # a library is quiet unless asked

__version__ = "0.1.0"
