"""Records of cubes' segments, and their validity."""
