"""Creates, builds and drops cubes."""
