"""The studio: audit a file of ranked people and try remedies in a browser, without code."""
