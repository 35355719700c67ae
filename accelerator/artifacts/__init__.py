"""Reads built artifacts: segments, index sidecars and relate columns."""
