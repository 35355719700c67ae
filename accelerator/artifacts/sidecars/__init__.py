"""Records of index sidecars, and their answers to predicates."""
