"""Search: passages of the manuscript and of conversations that bear on a query."""
