"""The template of the comparison page."""
