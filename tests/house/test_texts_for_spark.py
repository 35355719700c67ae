"""Texts that are built here reach Spark by `built` alone, which keeps Spark from replacing `${…}`.

What is listed here asks a session for a user's own statement, which goes to Spark as it stands.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

HOME = Path(__file__).parents[2]
_CALL = re.compile(r"\b(?:spark|session|running|_session)\.(?:sql|table)\(|\bF\.expr\(")
_USERS_OWN = {
    "accelerator/query/pipeline.py": 4,
    "accelerator/query/execution/cover_runner.py": 5,
    "accelerator/query/runtime/services.py": 1,
    "accelerator/session/session.py": 1,
    "accelerator/engines/spark/engine.py": 1,
}
_GUARDED = {"cubes/spark.py": 1, "accelerator/services/clustering/spark.py": 2}
"""Each call there has `unexpanded_in` around its text."""
_CHECKED = {
    "accelerator/engines/spark/segment_files.py": 1,
    "accelerator/engines/spark/session/state.py": 1,
    "accelerator/services/clustering/data_files.py": 1,
}
"""A name with `${` is no table there, or the name is drawn by us."""


def test_only_a_users_own_texts_go_to_spark_as_they_stand() -> None:
    found: Counter[str] = Counter()
    for root in ("accelerator", "cubes", "indexes", "rewrite"):
        for path in (HOME / root).rglob("*.py"):
            name = str(path.relative_to(HOME))
            for line in path.read_text(encoding="utf-8").splitlines():
                if "`spark.sql" in line or not _CALL.search(line):
                    continue
                found[name] += 1
                assert name not in _GUARDED or "unexpanded_in" in line, line
    assert found == _USERS_OWN | _GUARDED | _CHECKED
