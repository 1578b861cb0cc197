"""Find names in running text: known names (cdx-3), unknown ones, and the main characters."""
