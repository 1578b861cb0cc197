"""Background work that survives a crash."""
