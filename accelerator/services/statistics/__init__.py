"""Sketches of a table's columns, kept in Puffin files beside its metadata: BUILD STATISTICS."""
