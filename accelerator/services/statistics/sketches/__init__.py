"""Sketches of a column's values."""
