"""A Spark session's catalogs in PyIceberg's terms, and back."""
