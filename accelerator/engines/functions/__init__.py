"""The set and sketch functions of `accelerator.engines.sketches`, as an engine's own functions."""
