"""Auditing: from a ranking to tables, a verdict and a page."""
