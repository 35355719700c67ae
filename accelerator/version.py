"""The release of the package, which caches, segments and workers are compared by."""

VERSION = "0.1.0"
