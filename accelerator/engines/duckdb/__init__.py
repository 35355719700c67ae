"""The DuckDB engine and its caches."""
