"""The advisor: which cubes pay for what is asked, and which no longer do. It makes none by itself.

`analyzing.py` goes from the log to advice; `statements.py` is ANALYZE, SHOW RECOMMENDATIONS and
APPLY; `choose.py`, `workload.py`, `gains.py` and `stars.py` are pure.
"""
