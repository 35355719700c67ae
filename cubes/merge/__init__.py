"""Brings several matches of a statement into one layout."""
