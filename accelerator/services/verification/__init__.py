"""Compares accelerated answers with plain ones, and quarantines artifacts."""
