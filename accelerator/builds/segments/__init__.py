"""Builds, merges, inspects and repairs cubes' segments."""
