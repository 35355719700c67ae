"""Limits the statements that run at once, and their memory."""
