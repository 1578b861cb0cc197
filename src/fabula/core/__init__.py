"""What every room speaks: fragments, layers, the story's order, the one table of error codes."""
