"""Records as dicts and from JSON, for any class of record."""
