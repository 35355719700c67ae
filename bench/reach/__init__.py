"""The reach bench: which statements were answered at an earlier commit, and aren't any more."""
