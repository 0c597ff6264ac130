"""The verdict of an audit: sentences, each written by one rule from the tables."""
