"""The public list of this room."""
