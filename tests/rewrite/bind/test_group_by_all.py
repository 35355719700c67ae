"""GROUP BY ALL and ORDER BY ALL: which outputs are the keys."""

from __future__ import annotations

import pytest

from rewrite.reason import DeclinedError
from tests.cubes.star import block


def test_group_by_all_is_by_the_outputs_without_aggregates() -> None:
    written = block("SELECT g, v + 1 AS w, 'x' AS x, sum(k) AS s FROM f GROUP BY g, v + 1, 'x'")
    for every in ("ALL", "all", "`ALL`", "(ALL)"):
        inferred = block(f"SELECT g, v + 1 AS w, 'x' AS x, sum(k) AS s FROM f GROUP BY {every}")
        assert inferred.keys == written.keys
        assert inferred.grouped
    alone = block("SELECT count(*), 1 + max(v) FROM f GROUP BY ALL")
    assert not alone.keys
    assert not alone.grouped


def test_order_by_all_is_by_every_output() -> None:
    bound = block("SELECT g, sum(v) AS s FROM f GROUP BY ALL ORDER BY ALL DESC")
    assert [key.expr for key in bound.order] == [output.expr for output in bound.outputs]
    assert all(key.descending and not key.nulls_first for key in bound.order)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT g, count(*) FROM f GROUP BY ALL g", "block_unsupported"),
        ("SELECT g, v AS all, count(*) FROM f GROUP BY ALL", "name_ambiguous"),
        ("SELECT g, count(*) AS `All` FROM f GROUP BY ALL", "name_ambiguous"),
        ("SELECT g, v AS all FROM f GROUP BY g, v ORDER BY ALL", "name_ambiguous"),
        ("SELECT g, count(*) FROM f GROUP BY g ORDER BY ALL, g", "expression_unsupported"),
    ],
)
def test_what_spark_reads_otherwise_is_left_to_it(sql: str, code: str) -> None:
    with pytest.raises(DeclinedError) as caught:
        block(sql)
    assert caught.value.declined.code == code
