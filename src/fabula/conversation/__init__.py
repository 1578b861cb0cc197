"""Conversations: what was said, and by whom."""
