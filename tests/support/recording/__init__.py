"""Plain Spark's answers, recorded: a lake's statements and questions are asked of Spark once.

`records.py` keeps answers · `lake.py` a warehouse whose states are kept, statement by statement ·
`spark.py` what stands for a Spark session over it · `engine.py` the same for the layer's engine ·
`live.py` the one real Spark of a process, which starts when a record is missing.
"""
