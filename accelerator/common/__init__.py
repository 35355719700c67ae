"""Settings, Arrow types, caches, files and other helpers that every room uses."""
