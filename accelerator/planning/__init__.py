"""Plans a statement without I/O except through its pins."""
