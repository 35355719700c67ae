"""Keys whose constants are written otherwise in other clauses, which plain Spark refuses."""

from __future__ import annotations

import pytest

from rewrite.reason import DeclinedError
from tests.cubes.star import block


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k > 2 + 3 AS x, count(*) AS n FROM f GROUP BY k > 5",
        "SELECT c > 9.5 + 2 AS x, count(*) AS n FROM f GROUP BY c > 11.5",
        "SELECT k > CAST(5 AS INT) AS x, count(*) AS n FROM f GROUP BY k > 5",
        "SELECT dt > '2024-01-03' AS x, count(*) AS n FROM f GROUP BY dt > DATE '2024-01-03'",
        "SELECT if(k > 2 + 3, 1, 2) AS x, count(*) AS n FROM f GROUP BY if(k > 5, 1, 2)",
        "SELECT k * -(2) AS x, count(*) AS n FROM f GROUP BY k * -2",
        "SELECT count(*) AS n FROM f GROUP BY k > 5 HAVING k > 2 + 3",
        "SELECT count(*) AS n FROM f GROUP BY k > 5 ORDER BY k > 2 + 3",
    ],
)
def test_another_spelling_of_a_keys_constant_is_left_to_spark(sql: str) -> None:
    with pytest.raises(DeclinedError) as caught:
        block(sql)
    assert caught.value.declined.code == "block_unsupported"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k > 2 + 3 AS x, count(*) AS n FROM f GROUP BY k > 2 + 3",
        "SELECT k > (5) AS x, count(*) AS n FROM f GROUP BY (k > 5)",
        "SELECT k > 2 + 3 AS x, count(*) AS n FROM f GROUP BY x",
        "SELECT w > 1L AS x, count(*) AS n FROM f GROUP BY 1 ORDER BY 2, 1",
        "SELECT w > 1L AS x, count(*) AS n FROM f GROUP BY w > 1L ORDER BY 1",
        "SELECT k > 5 AS x, sum(v * (2 + 3)) AS n FROM f GROUP BY k > 5 HAVING count(*) > 1 + 1",
    ],
)
def test_the_same_spelling_is_taken(sql: str) -> None:
    assert block(sql).keys
