"""The gateway's REST API: tables' metadata, services' runs, and appends; with its own document."""
