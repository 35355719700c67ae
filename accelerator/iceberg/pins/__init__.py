"""Tables pinned at one snapshot for one statement."""
