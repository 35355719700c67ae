"""Making, merging, publishing and mending cubes' segments."""
