"""What divides by a constant zero is NULL to MySQL and StarRocks, and an error to Spark."""

from __future__ import annotations

import pytest

from rewrite.dialects.translate import translated


@pytest.mark.parametrize("dialect", ["mysql", "starrocks"])
@pytest.mark.parametrize("zero", ["0", "0.0", "00"])
@pytest.mark.parametrize("operator", ["/", "%"])
def test_a_constant_zero_is_null(dialect, zero, operator):
    sql = translated(f"SELECT a {operator} {zero} AS q FROM t", dialect, lambda _: None)
    assert f"a {operator} NULLIF({zero}, 0)" in sql


@pytest.mark.parametrize("number", ["1", "10", "0.5", "100"])
def test_another_constant_stays_as_it_is(number):
    assert "NULLIF" not in translated(f"SELECT a / {number} FROM t", "mysql", lambda _: None)
