"""Memory: what is known of the writer."""
