"""Indexes of tables: what they have built, how it's built, what it proves for a statement."""
