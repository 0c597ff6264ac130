"""Re-rankers that promise something of every prefix."""
