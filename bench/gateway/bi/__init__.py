"""Statements that tools draw dashboards with, and how many of them a gateway answers."""
