"""Attack on readers, models, re-rankers and metrics: ``python -m fuzz --help``."""
