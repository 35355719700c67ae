"""Rewrites a SELECT into one that is easier to answer."""
