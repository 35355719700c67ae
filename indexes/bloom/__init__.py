"""Bloom filters."""
