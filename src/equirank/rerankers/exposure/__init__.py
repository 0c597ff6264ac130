"""Re-rankers that share exposure: their results are policies, rankings with weights."""
