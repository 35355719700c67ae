"""The query fuzz: random stars, cubes, changes and statements; plain Spark is the oracle.

`python -m fuzz --minutes 5` runs it. Nothing but its own test imports it, and no wheel holds it.
"""
