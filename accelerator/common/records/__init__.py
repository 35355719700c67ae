"""What any record is turned into, and read from: a dict, JSON."""
