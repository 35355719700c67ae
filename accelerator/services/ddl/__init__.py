"""Statements that define cubes, indexes, relate columns and constraints."""
