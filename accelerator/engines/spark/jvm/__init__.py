"""Calls into the JVM of a Spark session, and its errors."""
