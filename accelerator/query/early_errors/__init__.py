"""Errors at once: what is provably wrong in a statement is told without starting Spark."""
