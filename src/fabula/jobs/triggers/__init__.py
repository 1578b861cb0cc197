"""Triggers: which jobs a change in the store queues."""
