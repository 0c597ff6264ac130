"""Comparison: any set of methods on the same folds, tested in pairs, and picked by trade-off."""
