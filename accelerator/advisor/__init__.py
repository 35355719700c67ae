"""The advisor: what pays for what is asked, and what no longer does. It makes nothing by itself.

`analyzing.py` goes from the log to advice: cubes (`offers.py`), indexes (`access.py`) and orders of
rows (`orders.py`). `statements.py` is ANALYZE and SHOW RECOMMENDATIONS, `applying.py` APPLY;
`choose.py`, `workload.py`, `gains.py`, `stars.py`, `sharing.py` and `layouts.py` are pure.
"""
