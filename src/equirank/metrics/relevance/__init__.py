"""How well a ranking serves relevance."""
