"""Models: what was asked of them, and what it cost."""
