"""One picture, one function, one file."""
