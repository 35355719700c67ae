"""Calls of functions and aggregates: the words that are bound, and their bound expressions."""
