"""Configuration files: data, training, prediction and the model card of a fitted model."""
