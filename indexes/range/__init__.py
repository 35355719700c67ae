"""Filters of value ranges."""
