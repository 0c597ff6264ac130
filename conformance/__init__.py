"""The conformance suite: plain definitions of every metric, and the vectors made from them."""
