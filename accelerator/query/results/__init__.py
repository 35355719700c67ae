"""Results of queries, whole and batch by batch."""
