"""Writes to Iceberg tables and their metadata."""
