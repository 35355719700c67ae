"""Windows over groups are read from derived tables of them; what else stands there stays."""

from __future__ import annotations

import pytest

from rewrite.parse.parse import parse
from rewrite.rules.splice.select_spans import Text
from rewrite.rules.split_windows import unfolded

_GROUPS = "FROM (SELECT g AS acc_key_0, sum(v) AS acc_value_0 FROM f GROUP BY g) AS acc_groups"


def _unfolded(sql: str) -> str | None:
    found = unfolded(Text(sql))
    return None if found is None else found.sql


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "SELECT g, rank() OVER (ORDER BY sum(v)) AS r FROM f GROUP BY g",
            f"SELECT acc_key_0 AS g, rank() OVER (ORDER BY acc_value_0) AS r {_GROUPS} ",
        ),
        (
            "SELECT `g`, sum(sum(v)) OVER () FROM f GROUP BY g ORDER BY f.g, sum(v) LIMIT 3",
            f"SELECT acc_key_0 AS `g`, sum(acc_value_0) OVER () {_GROUPS}"
            " ORDER BY acc_key_0, acc_value_0 LIMIT 3",
        ),
        (
            "SELECT upper(g) AS g, lag(sum(v)) OVER (ORDER BY g) AS l FROM f GROUP BY g ORDER BY g",
            "SELECT upper(acc_key_0) AS g, lag(acc_value_0) OVER (ORDER BY acc_key_0) AS l"
            f" {_GROUPS} ORDER BY g",
        ),
        (
            "SELECT count(*) FILTER (WHERE v > 1) AS n, sum(count(*)) OVER () AS m FROM f",
            "SELECT acc_value_0 AS n, sum(acc_value_1) OVER () AS m FROM (SELECT count(*) FILTER"
            " (WHERE v > 1) AS acc_value_0, count(*) AS acc_value_1 FROM f) AS acc_groups ",
        ),
        (
            "SELECT a, rank() OVER (PARTITION BY grouping(b) ORDER BY a) r FROM"
            " f GROUP BY CUBE (a, b)",
            "SELECT acc_key_0 AS a, rank() OVER (PARTITION BY acc_value_0 ORDER"
            " BY acc_key_0) r FROM"
            " (SELECT a AS acc_key_0, b AS acc_key_1, grouping(b) AS acc_value_0 FROM f"
            " GROUP BY CUBE (a, b)) AS acc_groups ",
        ),
        (
            "SELECT 1 FROM (SELECT g, rank() OVER (ORDER BY sum(v)) AS r FROM f GROUP BY g) -- r",
            "SELECT 1 FROM (SELECT acc_key_0 AS g, rank() OVER (ORDER BY acc_value_0) AS r"
            f" {_GROUPS} ) -- r",
        ),
    ],
)
def test_what_is_unfolded(sql: str, wanted: str) -> None:
    assert _unfolded(sql) == wanted
    assert parse(wanted)
    assert _unfolded(wanted) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g, sum(v) OVER (ORDER BY g) AS s FROM f",
        "SELECT g, sum(v) FROM f GROUP BY g",
        "SELECT DISTINCT g, rank() OVER (ORDER BY sum(v)) AS r FROM f GROUP BY g",
        "SELECT g, rank() OVER w AS r FROM f GROUP BY g WINDOW w AS (ORDER BY sum(v))",
        "SELECT year(d) AS y, rank() OVER (ORDER BY sum(v)) AS r FROM f GROUP BY year(d)",
        "SELECT g, mine(g) AS m, rank() OVER (ORDER BY sum(v)) AS r FROM f GROUP BY g",
        "SELECT g, mine(v) OVER (ORDER BY sum(v)) AS r FROM f GROUP BY g",
        "SELECT g, sum(v) AS s, rank() OVER (ORDER BY s) AS r FROM f GROUP BY g",
        "SELECT g, sum(v) AS s, rank() OVER (ORDER BY g) AS r FROM f GROUP BY g HAVING s > 1",
        "SELECT a.k, b.k, rank() OVER (ORDER BY sum(v)) AS r FROM a JOIN b GROUP BY a.k, b.k",
        "SELECT a.k, rank() OVER (ORDER BY b.k) AS r FROM a JOIN b GROUP BY a.k",
        "SELECT g, (SELECT max(v) FROM f) AS m, rank() OVER (ORDER BY sum(v)) AS"
        " r FROM f GROUP BY g",
        "SELECT *, rank() OVER (ORDER BY sum(v)) AS r FROM f GROUP BY g",
        "SELECT g, percentile(v, 0.5) AS p, rank() OVER (ORDER BY g) AS r FROM f GROUP BY g",
        "SELECT g, rank() OVER (ORDER BY sum(v)) AS r FROM f GROUP BY ALL",
        "SELECT 1 FROM (SELECT g, rank() OVER (ORDER BY sum(v)) FROM f GROUP BY g)",
    ],
)
def test_what_is_not(sql: str) -> None:
    assert _unfolded(sql) is None
