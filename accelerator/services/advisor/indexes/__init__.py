"""Chooses indexes and row orders for a workload."""
