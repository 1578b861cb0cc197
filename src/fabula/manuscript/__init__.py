"""The manuscript: documents in their order, the outline, synopses, and the project's own direction."""
