"""Rankers that learn a distribution over rankings."""
