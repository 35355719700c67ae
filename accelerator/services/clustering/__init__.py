"""Clustering: data files rewritten so that few of them hold each combination of values."""
