"""Manifests as Arrow columns: two decoders that agree, a cache in memory and in a folder."""
