"""Calls of the REST API that run in a worker."""
