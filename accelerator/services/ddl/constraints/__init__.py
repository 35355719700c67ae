"""Declared keys: kept in table properties, counted on the data, never enforced."""
