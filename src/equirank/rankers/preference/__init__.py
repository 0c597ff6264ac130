"""Preference-based ranking: a model of pairwise preferences, and orders derived from it."""
