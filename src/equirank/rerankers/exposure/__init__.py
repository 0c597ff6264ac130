"""Re-rankers that share out attention."""
