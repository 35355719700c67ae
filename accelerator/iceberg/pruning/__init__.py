"""Predicates as verdicts about data files."""
