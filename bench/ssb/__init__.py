"""The Star Schema Benchmark: generator, loader, queries, cubes and the run."""
