"""The package metrics/pairs."""
