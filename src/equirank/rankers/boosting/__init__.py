"""Boosting of weak rankers, with costs."""
