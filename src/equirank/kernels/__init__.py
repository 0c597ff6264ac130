"""Arrays in, arrays out: the arithmetic, without classes and without checks."""
