"""Saves: a whole project as one readable file (sav-2)."""
