"""ORC files by their stripes."""
