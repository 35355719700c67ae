"""Which data files a cube or index covers, by what, and why not the others: SHOW COVERAGE."""
