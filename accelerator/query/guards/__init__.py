"""Refuses statements that would read too much."""
