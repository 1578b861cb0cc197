"""Analyse text by itself: tokens, paragraphs, sentences, names, terms and summaries.

These modules depend on `fabula.core` alone. Importing them loads neither numpy nor the Chinese segmenter.
"""
