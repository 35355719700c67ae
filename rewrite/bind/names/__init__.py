"""Names in a statement: what columns they mean, and how outputs are called."""
