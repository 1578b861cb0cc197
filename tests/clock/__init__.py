"""Runs with a wrong clock: a year ahead, a year back, and jumping."""
