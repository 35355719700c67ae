"""The function table: what Spark's functions take and give, and how DuckDB writes them.

One tuple of rows for each family of functions, joined in `table`. A row is proven by a grid of edge
values beside plain Spark's recorded answers (`tests/rewrite/functions`).
"""
