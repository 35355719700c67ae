"""Statements of clients, from their arrival to their last row."""
