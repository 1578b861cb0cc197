"""Embeddings: search by meaning, with a local model or an embeddings endpoint."""
