"""The advisor: what pays for what is asked, and what no longer does.

`analyze.py` goes from the log to advice: cubes (`services/advisor/cubes/options.py`), indexes
(`services/advisor/indexes/options.py`) and orders of rows
(`services/advisor/indexes/clustering.py`). `ddl.py` is ANALYZE and SHOW RECOMMENDATIONS,
`services/advisor/apply/apply.py` APPLY; `choose.py`, `services/advisor/workload/workload.py`,
`cost_model.py`, `services/advisor/cubes/cube_select.py`, `marginal_gain.py` and
`services/advisor/indexes/clustering_simulation.py` are pure. `results.py` tells what came of it;
`services/advisor/apply/auto.py` does all that by itself, where the settings say so.
"""
