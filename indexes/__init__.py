"""Which data files, row groups and rows may match a predicate. Knows no SQL."""
