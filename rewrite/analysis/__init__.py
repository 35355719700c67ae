"""Questions about a statement that need no binding."""
