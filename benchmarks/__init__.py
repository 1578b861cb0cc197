"""Benchmarks: one command each, peers in the same run, ratios printed."""
