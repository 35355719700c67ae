"""The advisor: what pays for what is asked, and what no longer does.

`analyzing.py` goes from the log to advice: cubes (`offers.py`), indexes (`access.py`) and orders of
rows (`orders.py`). `statements.py` is ANALYZE and SHOW RECOMMENDATIONS, `applying.py` APPLY;
`choose.py`, `workload.py`, `gains.py`, `stars.py`, `sharing.py` and `layouts.py` are pure.
`results.py` tells what came of it; `auto.py` does all that by itself, where the settings say so.
"""
