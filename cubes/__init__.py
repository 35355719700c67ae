"""Pre-aggregation: what a cube is, when it may answer a query, and how its segments are built."""
