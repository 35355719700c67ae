"""Which data files, row groups and rows may match a predicate. Arrow and numpy only; knows no SQL."""
