"""Providers: one module for each kind of model server."""
