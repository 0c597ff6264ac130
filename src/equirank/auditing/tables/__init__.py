"""The tables of an audit, one family per module."""
