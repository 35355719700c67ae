"""Records statements for the session's query log and its observers."""
