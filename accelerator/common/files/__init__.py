"""Local files: names, bounded reading, folders of caches."""
