"""Per-list sums of data of any kind and size: files, DuckDB, Dask and Spark."""
