"""Deletes old snapshots, dead segments and unneeded files."""
