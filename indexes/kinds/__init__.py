"""The kinds of index, one file each."""
