"""How a Spark session of our own is started."""
