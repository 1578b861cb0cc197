"""Names: find known names in running text (cdx-3)."""
