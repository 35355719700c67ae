"""Trino's client protocol: headers, statements, types, values, errors. Nothing here does I/O."""
