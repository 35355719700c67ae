"""Work on tables and artifacts: DDL, refresh, vacuum, advisor, statistics."""
