"""Neural rankers: small networks trained by one loop, on pairs or on whole lists."""
