"""Reads rows of data files, without deleted ones."""
