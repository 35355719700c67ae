"""Cubes that need no build: table manifests, and the query block itself."""
