"""Search: passages of the manuscript that bear on what is being written."""
