"""The manuscript: projects, documents and their revisions, the outline, and synopses of chapters."""
