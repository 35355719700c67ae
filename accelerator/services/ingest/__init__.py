"""Rows that clients send, into Iceberg tables: read with distrust, checked by type, appended."""
