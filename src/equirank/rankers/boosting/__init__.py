"""Boosting: weak rankers added up, with costs."""
