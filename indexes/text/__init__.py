"""Grams and tokens of texts."""
