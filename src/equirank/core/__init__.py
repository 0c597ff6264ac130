"""The nouns and verbs of the house, and the one door through which data comes in."""
