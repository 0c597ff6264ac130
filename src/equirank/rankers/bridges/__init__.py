"""Models of other libraries as rankers; public names are in the package above."""
