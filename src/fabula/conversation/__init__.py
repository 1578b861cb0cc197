"""Conversations: messages in a tree, participants, recent conversations and recaps (cnv-1…7)."""
