"""LambdaMART and its kin, on LightGBM."""
