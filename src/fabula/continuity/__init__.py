"""Stored continuity: what one request hands to the next, kept in the store across processes (ctx-8)."""
