"""Canaries: a store full of planted words, and an oracle that says where each of them may be."""
