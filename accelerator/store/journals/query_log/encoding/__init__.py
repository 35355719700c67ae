"""Records of the query log as bytes of Parquet files, and back."""
