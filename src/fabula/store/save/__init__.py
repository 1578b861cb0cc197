"""Saves: save a whole project to one readable file, check it and load it (sav-2)."""
