"""A table's files, schema, partitions and transforms."""
