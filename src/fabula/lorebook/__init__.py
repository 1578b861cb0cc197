"""Lorebooks: world books and the books of character cards, and which of their entries are active (inj-6…8)."""
