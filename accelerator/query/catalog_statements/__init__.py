"""SHOW, DESCRIBE, USE and SET as Spark answers them, without Spark: names, tables, settings."""
