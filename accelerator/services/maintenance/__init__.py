"""What keeps the store and the lake's tables small: the recycle bin, vacuums, the daemon."""
