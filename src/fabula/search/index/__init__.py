"""The search index: passages and an inverted index over their words."""
