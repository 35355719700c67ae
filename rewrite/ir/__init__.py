"""Blocks and expressions: the normal form of a SELECT."""
