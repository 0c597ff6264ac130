"""Distributional checks of one group's places, one check in one file."""
