"""Translates statements of other dialects to Spark SQL."""
