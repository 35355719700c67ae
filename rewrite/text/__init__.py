"""Texts and names: Spark's tokens, quoting, places, suggestions."""
