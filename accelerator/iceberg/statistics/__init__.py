"""Statistics of tables, files and columns."""
