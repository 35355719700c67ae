"""Arrow values and types as numpy, Python and Spark have them."""
