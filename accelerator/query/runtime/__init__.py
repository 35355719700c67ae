"""Shared parts of a session: services, cancellation and counted failures."""
