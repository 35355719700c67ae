"""The command `accelerator`. Nothing is imported here, so that `--help` answers at once."""
