"""Chooses cubes for a workload."""
