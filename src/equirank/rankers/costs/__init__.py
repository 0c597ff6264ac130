"""Costs: of items and of pairs, for every ranker that takes them."""
