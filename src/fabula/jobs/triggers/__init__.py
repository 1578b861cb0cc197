"""Triggers: which jobs a change in the store enqueues, in the same transaction."""
