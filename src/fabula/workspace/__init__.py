"""The workspace: the use cases that every interface calls."""
