"""Expressions and blocks as SQL."""
