"""The codex: who and what there is in the story, and what becomes true of them when."""
