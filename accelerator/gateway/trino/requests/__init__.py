"""Parses statements of Trino's clients that need no session."""
