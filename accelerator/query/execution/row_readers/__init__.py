"""Rows of one table in an order, read from the files that may hold them."""
