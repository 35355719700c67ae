"""Finds SELECTs inside a statement and replaces them in its text."""
