"""Opens warehouses, and runs the session that users work with."""
