"""The way out of the house: which addresses may be reached, and through whom."""
