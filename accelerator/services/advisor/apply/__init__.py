"""Applies recommendations and records what was applied."""
