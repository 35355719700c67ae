"""Inverted indexes: the rows of each value."""
