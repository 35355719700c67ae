"""What Spark's `lower` and LIKE find, and grams: nothing that it finds may be told to be absent."""

from __future__ import annotations

import random
import sys

import pytest

from indexes.text.grams import _FOLD, grams, is_certain
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark

_ALPHABET = "aAbBİiIıK\u0307kΑΣσςßẞ中文😀 ."


def test_spark_lowers_as_the_table_folds(spark_warehouse: SparkWarehouse) -> None:
    """Every code point, by whatever release of Unicode this Spark has."""
    codes = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    every = f"""SELECT decode(unhex(lpad(hex(id), 8, '0')), 'UTF-32') AS c
        FROM range({sys.maxunicode + 1}) WHERE id NOT BETWEEN {0xD800} AND {0xDFFF}"""
    assert spark_warehouse.sql(f"SELECT count(DISTINCT c) FROM ({every})")[0][0] == len(codes)
    rows = spark_warehouse.sql(f"SELECT c, lower(c) FROM ({every}) WHERE c <> lower(c)")
    lowered = {ord(one): [ord(c) for c in other] for one, other in rows}
    assert len(lowered) > 1000
    for code in codes:
        found, folded = lowered.get(code, [code]), _FOLD.get(code, code)
        if code == 0x130:
            assert found == [folded, 0x307]
        elif code == 0x3C2:
            assert found == [code] and folded == 0x3C3
        else:
            assert all(one == folded for one in found if is_certain(one))
            assert not is_certain(code) or found == [folded]


def test_spark_finds_nothing_that_grams_lack(spark_warehouse: SparkWarehouse) -> None:
    rng = random.Random(7)

    def some(length: int) -> str:
        return "".join(rng.choices(_ALPHABET, k=rng.randrange(length + 1)))

    pairs = []
    for _ in range(3000):
        run = some(5)
        near = rng.choice([run, run.upper(), run.lower(), run.swapcase(), run.title()])
        pairs.append((some(4) + near + some(4), run))
    frame = spark_warehouse.spark.createDataFrame(pairs, "text STRING, run STRING")
    rows = frame.selectExpr(
        "text", "run", "text LIKE concat('%', run, '%')", "text ILIKE concat('%', run, '%')"
    ).collect()
    assert sum(like for *_, like, _ in rows) > 500
    assert sum(ilike and not like for *_, like, ilike in rows) > 500
    for text, run, like, ilike in rows:
        for gram in (2, 3, 4):
            held = set(grams(text, gram, folded=True))
            if like:
                assert set(grams(run, gram, folded=True)) <= held
                assert set(grams(run, gram, folded=False)) <= set(grams(text, gram, folded=False))
            if ilike:
                assert set(grams(run, gram, folded=True, certain=True)) <= held
