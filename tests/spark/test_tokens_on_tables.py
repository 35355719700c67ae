"""`has_token` and `match` in Spark and in process, indexed or not: what plain Python says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException

import accelerator
from accelerator.errors import DefinitionError, FunctionArgumentError
from accelerator.session.session import Accelerator
from indexes.text.tokens import tokens_of
from tests.spark.conftest import SparkWarehouse
from tests.support.warehouse import live_warehouse

pytestmark = pytest.mark.spark

TEXTS = (
    "GET /orders/17 failed: timeout, GET again",
    "get ORDERS 17",
    "订单17支付失败，付款人王伟",
    "用户登录成功 Order-17",
    "KELVIN \u212a é e\u0301 ΣΊΣΥΦΟΣ",
    "it's_a-b",
    "",
    None,
)
HAS = ("GET", "get", "17", "支付", "支", "失败", "K", "é", "e", "s", "b", "absent")
MATCH = (
    "get 17",
    "17 GET",
    "支付 失败",
    "支付失败订单",
    "k",
    "σίσυφος",
    "S a",
    "get absent",
    "",
    "，",
)


def has(text: str | None, needle: str) -> bool | None:
    return None if text is None else needle in tokens_of(text)


def matches(text: str | None, words: str) -> bool | None:
    if text is None:
        return None
    return set(tokens_of(words, folded=True)) <= set(tokens_of(text, folded=True))


def quoted(text: str) -> str:
    return '"' + text + '"' if "'" in text else f"'{text}'"


@pytest.fixture(scope="module")
def table(spark_warehouse: SparkWarehouse) -> str:
    """Each text in a file of its own, and all of them in one."""
    name = f"lake.d.{spark_warehouse.table('id INT, s STRING, words STRING')}"
    rows = [
        f"({i}, {'NULL' if text is None else quoted(text)}, {quoted(word)})"
        for i, (text, word) in enumerate(zip(TEXTS, MATCH, strict=False))
    ]
    for row in rows[:3]:
        spark_warehouse.sql(f"INSERT INTO {name} VALUES {row}")
    spark_warehouse.sql(f"INSERT INTO {name} VALUES {', '.join(rows[3:])}")
    return name


def asked() -> Iterator[tuple[str, list[bool | None]]]:
    for needle in HAS:
        yield f"has_token(s, '{needle}')", [has(text, needle) for text in TEXTS]
    for words in MATCH:
        yield f"match(s, '{words}')", [matches(text, words) for text in TEXTS]


def ids(truth: list[bool | None], wanted: bool = True) -> list[int]:
    return [i for i, value in enumerate(truth) if value is wanted]


def test_plain_spark_says_what_plain_python_says(acc: Accelerator, table: str) -> None:
    every = list(asked())
    shown = ", ".join(f"{test} c{i}" for i, (test, _) in enumerate(every))
    rows = acc.spark.sql(f"SELECT {shown} FROM {table} ORDER BY id").collect()
    for number, (test, truth) in enumerate(every):
        assert [row[number] for row in rows] == truth, test


def check(acc: Accelerator, table: str) -> None:
    for test, truth in asked():
        found = acc.query(f"SELECT id FROM {table} WHERE {test} ORDER BY id LIMIT 20")
        assert found.arrow()["id"].to_pylist() == ids(truth), test
        assert found.metrics.engine == "duckdb", (test, found.metrics.fallback)
        counted = acc.query(f"SELECT count(*) n FROM {table} WHERE NOT {test}")
        assert counted.arrow()["n"].to_pylist() == [len(ids(truth, False))], test
        frame = acc.sql(f"SELECT id FROM {table} WHERE {test} ORDER BY id LIMIT 20")
        assert [row["id"] for row in frame.collect()] == ids(truth), test


@pytest.mark.slow
def test_in_process_too(acc: Accelerator, table: str) -> None:
    check(acc, table)


def test_indexed_too(acc: Accelerator, table: str) -> None:
    acc.execute(f"CREATE INDEX words ON {table} USING TOKEN_BLOOM (s)")
    try:
        check(acc, table)
        none = f"SELECT id FROM {table} WHERE match(s, 'orders absent')"
        found = acc.query(none)
        assert found.metrics.files_read == 0 and found.metrics.indexes == ("words",)
        one = acc.query(f"SELECT id, s FROM {table} WHERE has_token(s, 'timeout')")
        assert one.metrics.files_read == 1 and one.arrow()["id"].to_pylist() == [0]
        # What would be the same in an index of patterns isn't asked of words.
        assert acc.query(f"SELECT id FROM {table} WHERE s LIKE '%absent%'").metrics.indexes == ()
    finally:
        acc.execute("DROP INDEX words")


def test_what_is_looked_for_may_be_a_column(acc: Accelerator, table: str) -> None:
    found = acc.query(f"SELECT id, match(s, words) m FROM {table} ORDER BY id").arrow().to_pylist()
    truth = [matches(text, word) for text, word in zip(TEXTS, MATCH, strict=False)]
    assert [row["m"] for row in found] == truth
    needles = acc.query(f"SELECT has_token(s, IF(id < 3, '17', NULL)) h FROM {table} ORDER BY id")
    assert needles.arrow()["h"].to_pylist() == [True, True, True, *[None] * 5]


@pytest.mark.parametrize(
    ("test", "truth"),
    [
        ("CASE WHEN has_token(s, 'GET') THEN 1 ELSE 0 END = 1", [0]),
        ("`has_token`(s, 'GET') OR Match(s, 'kelvin')", [0, 4]),
        ("has_token(upper(s), 'GET') AND id > 0", [1]),
        ("has_token(s, 'GET') <=> NULL", [7]),
        ("coalesce(match(s, '支付'), true)", [2, 7]),
        ("match(concat(s, ' absent'), 'get absent')", [0, 1]),
        ("match(s, NULL) IS NULL AND id < 2", [0, 1]),
        ("EXISTS (SELECT 1 FROM range(3) r WHERE r.id = t.id AND has_token(s, 'GET'))", [0]),
    ],
)
def test_anywhere_in_a_statement(acc: Accelerator, table: str, test: str, truth: list[int]) -> None:
    found = acc.query(f"SELECT id FROM {table} t WHERE {test} ORDER BY id")
    assert found.arrow()["id"].to_pylist() == truth
    grouped = f"SELECT has_token(s, '17') k, count(*) n FROM {table} GROUP BY 1 ORDER BY 1"
    assert acc.query(grouped).arrow()["n"].to_pylist() == [1, 3, 4]


def test_in_views_of_the_session(live_acc: Accelerator, table: str) -> None:
    live_acc.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW failed AS SELECT * FROM {table} WHERE match(s, '失败')"
    )
    assert live_acc.query("SELECT id FROM failed").arrow()["id"].to_pylist() == [2]


@pytest.mark.parametrize("needle", ["", " ", "a b", "支付失败", "a-b"])
def test_a_needle_that_is_not_one_token(acc: Accelerator, table: str, needle: str) -> None:
    for run in (acc.query, acc.sql):
        with pytest.raises(FunctionArgumentError, match="exactly one token") as raised:
            run(f"SELECT id FROM {table} WHERE id < 0 AND has_token(s, '{needle}')")
        assert "match(text, words)" in raised.value.hint
    with pytest.raises(FunctionArgumentError, match="exactly one token") as raised:
        acc.query(f"SELECT has_token(s, concat('{needle}', '')) FROM {table}")
    assert "match(text, words)" in raised.value.hint
    with pytest.raises(PySparkException, match="exactly one token"):
        acc.spark.sql(f"SELECT has_token(s, '{needle}') FROM {table}").collect()


def test_other_than_texts(acc: Accelerator, table: str) -> None:
    with pytest.raises(FunctionArgumentError, match="take texts") as raised:
        acc.query(f"SELECT has_token(id, '17') FROM {table}")
    assert "cast" in raised.value.hint


def test_not_in_cubes(acc: Accelerator, table: str) -> None:
    with pytest.raises(DefinitionError, match="has_token and match"):
        acc.query(
            f"CREATE CUBE words AS SELECT match(s, 'a') m, count(*) n FROM {table} GROUP BY 1"
        )


def test_a_function_that_a_user_has_stays(
    acc: Accelerator, spark_warehouse: SparkWarehouse, table: str, tmp_path
) -> None:
    spark = spark_warehouse.live_session()
    spark.udf.register("match", lambda s, words: "mine", "string")
    with accelerator.attach(spark, store=str(tmp_path)) as theirs:
        query = f"SELECT match(s, 'get') m, has_token(s, 'GET') h FROM {table} WHERE id = 0"
        found = theirs.query(query)
        assert found.arrow().to_pylist() == [{"m": "mine", "h": True}]
        assert "match isn't ours" in found.metrics.fallback
        assert theirs.query(f"SELECT id FROM {table} WHERE has_token(s, 'GET')").metrics.rewritten
        # Neither does ours come back, nor is it kept where the user registers one later.
        spark.udf.register("has_token", lambda s, words: "late", "string")
        later = theirs.query(f"SELECT has_token(s, ' ') h FROM {table} WHERE id = 0")
        assert later.arrow()["h"].to_pylist() == ["late"]
        with accelerator.attach(spark, store=str(tmp_path)) as again:
            assert again.query(query).arrow().to_pylist() == [{"m": "mine", "h": "late"}]
    assert acc.query(f"SELECT id FROM {table} WHERE match(s, 'get 17')").metrics.rewritten


def test_a_function_of_the_catalog_stays(tmp_path) -> None:
    wh = live_warehouse()
    table = f"lake.d.{wh.table('id INT, s STRING')}"
    wh.sql(f"INSERT INTO {table} VALUES (1, 'get 17'), (2, 'put')")
    spark = wh.spark.newSession()
    spark.sql("USE spark_catalog.default")
    spark.sql("CREATE FUNCTION match AS 'their.own.Match'")  # looked for when it's called
    try:
        with accelerator.attach(spark, store=str(tmp_path)) as session:
            query = f"SELECT id FROM {table} WHERE match(s, 'get')"
            assert "match isn't ours" in session.explain(query)
            with pytest.raises(PySparkException, match=r"their\.own\.Match"):
                session.query(query)
            assert session.query(query.replace("match", "has_token")).metrics.rewritten
    finally:
        spark.sql("DROP FUNCTION match")


def test_names_like_the_functions(acc: Accelerator, spark_warehouse: SparkWarehouse) -> None:
    name = f"lake.d.{spark_warehouse.table('match INT, has_token STRING')}"
    spark_warehouse.sql(f"INSERT INTO {name} VALUES (1, 'a b'), (2, 'c')")
    query = f"SELECT match.match m FROM {name} match WHERE match < 3 AND match(has_token, 'C')"
    found = acc.query(query)
    assert found.arrow().to_pylist() == [{"m": 2}]
    assert found.metrics.rewritten, found.metrics.fallback
