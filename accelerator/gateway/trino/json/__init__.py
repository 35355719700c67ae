"""Rows as JSON in Trino's encoding."""
