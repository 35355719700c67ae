"""Cubes and indexes that follow their tables: when, by whom, how far behind they are."""
