"""The advisor: which cubes pay for what is asked, and which no longer do.

`analyzing.py` goes from the log to advice; `statements.py` is ANALYZE, SHOW RECOMMENDATIONS and
APPLY; `choose.py`, `workload.py`, `gains.py` and `stars.py` are pure. `results.py` tells what came
of it; `auto.py` does all that by itself, where the settings say so.
"""
