"""Settings: names, value kinds and files."""
