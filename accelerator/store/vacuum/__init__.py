"""Deletes files that no version of the store needs."""
