"""Searches candidate plans for a statement."""
