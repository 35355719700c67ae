"""Authentication: users, passwords, delays after wrong ones, and TLS."""
