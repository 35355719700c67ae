"""TPC-H and TPC-DS: their tables, their queries, cubes for them, and what becomes of each query."""
