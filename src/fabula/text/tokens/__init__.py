"""Tokens: exact counts with the target model's own vocabulary (bud-2)."""
