"""Preference-based ranking: a model of who is preferred to whom, then an order made with it."""
