"""Readers of Iceberg catalogs, and the choice among them."""
