"""Objects in S3: reads ranges of them by obstore, and keeps footers and small ranges."""
