"""Decides whether a cube can answer a block."""
