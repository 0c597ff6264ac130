"""Re-rankers that share out attention: their results are policies, rankings with weights."""
