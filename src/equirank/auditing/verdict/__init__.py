"""The verdict of an audit: sentences, each made by one rule from the tables."""
