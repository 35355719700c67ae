"""Names in statements: cut at their dots, and written in backticks."""
