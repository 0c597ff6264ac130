"""The base classes, data structures and services that all other packages share."""
