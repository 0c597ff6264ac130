"""The tables of an audit, one table in one file."""
