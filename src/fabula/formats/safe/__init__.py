"""Bounded readers for untrusted files: encodings, JSON, XML, TOML, folders; and atomic writing."""
