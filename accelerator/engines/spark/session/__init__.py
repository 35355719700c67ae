"""Settings, rules and state of a Spark session."""
