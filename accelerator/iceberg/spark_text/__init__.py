"""Types and tables of Iceberg in the words that Spark shows them in."""
