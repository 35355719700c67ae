"""DuckDB and Spark, and the choice between them."""
