"""What Java takes of the patterns that are understood, and words that are answered by rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

from accelerator.session.session import Accelerator
from rewrite.ir.regex_literals import reading_of
from tests.rewrite.patterns import LETTERS, PATTERNS, holds, in_python
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark

_JAVAS_OWN = (
    ("^(?<first>ab)\\Q.(\\E+c$", "ab.((c\n"),
    ("a\\z", "ba"),
    ("a\\Z", "ba\r\n"),
    ("\\e\\a\\x41\\u4E2D", "\x1b\aA中"),
    ("\\Qa", "ba"),
    ("[a-c.][\\]\\-][\\w.-]", "a]-"),
    ("a{2,}b{0}c]}", "aac]}"),
    ("(?i)Straße", "STRAßE"),
    ("(?ims)^é.a", "\né\nA"),
    ("\\\\\\\\", "\\\\"),
    ("\ufffd\\/ \\ ", "\ufffd/  "),
)


def test_java_takes_what_is_understood(spark_warehouse: SparkWarehouse) -> None:
    """It refuses none of these patterns, and finds nothing in a text without the runs."""
    pairs: list[tuple[str, str]] = [*_JAVAS_OWN]

    @seed(7)
    @settings(
        max_examples=1_500, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(PATTERNS, st.data())
    def gather(pattern: str, data: st.DataObject) -> None:
        assume(reading_of(pattern) is not None)
        compiled = in_python(pattern)
        made = st.nothing() if compiled is None else st.from_regex(compiled)
        pairs.append((pattern, data.draw(st.one_of(made, st.text(LETTERS, max_size=12)))))

    gather()
    frame = spark_warehouse.spark.createDataFrame(pairs, "pattern STRING, text STRING")
    rows = frame.selectExpr("pattern", "text", "text RLIKE pattern").collect()
    assert all(found for *_, found in rows[: len(_JAVAS_OWN)]), rows[: len(_JAVAS_OWN)]
    assert sum(found for *_, found in rows) > 300
    for pattern, text, found in rows:
        reading = reading_of(pattern)
        assert reading is not None
        assert not found or holds(text, reading), (pattern, text, reading)


@pytest.fixture
def acc(spark_warehouse: SparkWarehouse, tmp_path: Path) -> Iterator[Accelerator]:
    with spark_warehouse.attach(store=str(tmp_path / "store")) as acc:
        yield acc


_SMALL_GROUPS = (
    "'write.parquet.row-group-size-bytes'='1024','write.parquet.page-size-bytes'='512',"
    "'write.parquet.row-group-check-min-record-count'='50',"
    "'write.parquet.row-group-check-max-record-count'='50'"
)
_TEXTS = (
    "SELECT id, CASE id % 7 WHEN 0 THEN concat('connection from 10.0.', id % 50, ' refused')"
    " WHEN 1 THEN concat('用户', id, '登录失败') WHEN 2 THEN 'İSTANBUL ΟΔΟΣ Straße' WHEN 3 THEN ''"
    " WHEN 4 THEN NULL WHEN 5 THEN concat('a%b_c \\\\ ', chr(128512), id)"
    " ELSE concat('x\\n', id) END AS t FROM range({first}, {last}, 1, 1)"
)


_WORDS = (
    "has_token(t, 'refused')",
    "NOT has_token(t, 'Refused')",
    "match(t, 'REFUSED from Connection')",
    "match(t, '登录失败')",
    "NOT match(t, 'refused')",
    "has_token(t, '登录') AND id < 300",
    "has_token(t, 'absent')",
    "match(t, 'straSSE') OR id = 7",
    "match(t, '') AND id < 9",
    "t LIKE '%refused%' AND match(t, '7')",
)


def test_words_are_answered_by_rows(spark_warehouse: SparkWarehouse, acc: Accelerator) -> None:
    """TOKEN_BITMAP: equal answers, row groups left out, and counts that read no data file."""
    wh = spark_warehouse
    table = f"lake.d.{wh.table('id BIGINT, t STRING', version=2, properties=_SMALL_GROUPS)}"
    for first in (0, 400):
        wh.sql(f"INSERT INTO {table} {_TEXTS.format(first=first, last=first + 400)}")
    queries = [f"SELECT id, t FROM {table} WHERE {where}" for where in _WORDS]
    queries += [f"SELECT count(*), sum(id) FROM {table} WHERE {where}" for where in _WORDS]
    plain = {query: sorted(acc.query(query).fetchall(), key=str) for query in queries}
    acc.execute(f"CREATE INDEX of_t ON {table} USING TOKEN_BITMAP (t)")
    for query in queries:
        assert sorted(acc.query(query).fetchall(), key=str) == plain[query], query
    found = acc.query(f"SELECT id FROM {table} WHERE has_token(t, '42') AND match(t, 'REFUSED')")
    assert sorted(found.fetchall()) == [(42,), (392,), (742,)]
    assert found.metrics.row_groups_read == 3
    assert acc.query(f"SELECT id FROM {table} WHERE id >= 0").metrics.row_groups_read == 4
    count = acc.query(f"SELECT count(*) FROM {table} WHERE match(t, 'connection')")
    assert count.fetchall() == [(115,)] and count.metrics.files_read == 0
