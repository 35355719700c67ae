"""Our SQL beside Spark's: text to statements, nothing resolved or run."""
