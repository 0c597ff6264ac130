"""Decisions: rankers used as classifiers."""
