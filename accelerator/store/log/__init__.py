"""The versioned metadata logs of the registry and of tables."""
