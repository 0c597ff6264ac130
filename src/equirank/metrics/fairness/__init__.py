"""How a ranking treats the groups of people in it."""
