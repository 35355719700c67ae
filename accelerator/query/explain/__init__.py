"""Explains plans, and suggests cubes and indexes."""
