"""Providers: one module for each API style, made by `factory.make_provider`."""
