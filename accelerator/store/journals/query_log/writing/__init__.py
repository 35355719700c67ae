"""Writes files of the query log, merges small ones and deletes old ones."""
