"""Re-rankers that decide as candidates arrive."""
