"""Trino's functions, types and syntax errors in Spark's terms."""
