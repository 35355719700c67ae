"""A query from text to rows: parsed, guarded, planned, run, explained, recorded."""
