"""SQL that builds a cube and that answers from it."""
