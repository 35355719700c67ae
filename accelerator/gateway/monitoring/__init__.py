"""Figures, traces, history and the query log of a gateway."""
