"""Samplers of queries: train on a part, with weights that make up for the rest."""
