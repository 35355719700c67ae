"""Binds a SELECT to tables and their columns."""
