"""Re-rankers that move scores."""
