"""Spark's hashes in bulk."""
