"""The workload, read from the query log."""
