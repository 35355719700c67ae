"""Constraints on tables that Spark writes, checked by Spark; and how Spark takes our words."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from accelerator.query.statements.constraint import Constraint
from accelerator.query.statements.nodes import Other, Query
from accelerator.query.statements.parse import parse_statement
from accelerator.services.ddl.constraints import declare
from accelerator.services.ddl.constraints.validate import Example

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(spark_warehouse):
    """A fact and a dimension, merge-on-read, with a deleted row in each."""
    fact = spark_warehouse.table("`order` INT, `day key` INT, price DECIMAL(10,2), x DOUBLE")
    dates = spark_warehouse.table("k BIGINT, year INT")
    rows = (
        "(1, 10, 1.5, double('NaN')), (2, 10, 2.5, double('NaN')), (2, 20, 2.5, 0D),"
        " (3, 30, 3.5, -0D), (NULL, NULL, NULL, 1D), (4, 99, 1, 2D)"
    )
    spark_warehouse.sql(f"INSERT INTO lake.d.{fact} VALUES {rows}")
    spark_warehouse.sql(f"DELETE FROM lake.d.{fact} WHERE `day key` = 99")
    spark_warehouse.sql(f"INSERT INTO lake.d.{dates} VALUES (10, 1), (20, 2), (30, 3)")
    spark_warehouse.sql(f"DELETE FROM lake.d.{dates} WHERE k = 30")
    return fact, dates


def _validate(spark_warehouse, table, constraint):
    def run(sql):
        return spark_warehouse.spark.sql(sql).toArrow()

    lake, parts = spark_warehouse.lake, ("lake", "d", table)
    added = declare.add(lake, parts, constraint)
    try:
        return declare.validate(lake, parts, added, run)
    finally:
        declare.drop(lake, parts, constraint.name)


def test_spark_counts_what_breaks_each_kind(spark_warehouse, tables):
    fact, dates = tables
    primary = _validate(spark_warehouse, fact, Constraint("c", "primary_key", ("ORDER",)))
    assert (primary.checked_rows, primary.violations) == (5, 2)
    assert set(primary.examples) == {Example((2,), 2, "duplicate"), Example((None,), 1, "null")}
    unique = _validate(spark_warehouse, fact, Constraint("c", "unique", ("order", "price")))
    assert [example.rows for example in unique.examples] == [2]
    foreign = Constraint("c", "foreign_key", ("day key",), ("lake", "d", dates), ("k",))
    found = _validate(spark_warehouse, fact, foreign)
    assert (found.checked_rows, found.violations) == (5, 1)
    assert found.examples == (Example((30,), 1, "not_found"),)


def test_nan_and_the_two_zeros_are_one_key_each(spark_warehouse, tables):
    found = _validate(spark_warehouse, tables[0], Constraint("c", "unique", ("x",)))
    assert found.violations == 2
    assert [example.rows for example in found.examples] == [2, 2]


def test_a_column_renamed_or_added_since_the_snapshot_is_still_read(spark_warehouse):
    table = spark_warehouse.table("a INT")
    spark_warehouse.sql(f"INSERT INTO lake.d.{table} VALUES (1), (1)")
    spark_warehouse.sql(f"ALTER TABLE lake.d.{table} RENAME COLUMN a TO b")
    spark_warehouse.sql(f"ALTER TABLE lake.d.{table} ADD COLUMN c INT")
    renamed = _validate(spark_warehouse, table, Constraint("c", "unique", ("b",)))
    assert renamed.examples == (Example((1,), 2, "duplicate"),)
    assert _validate(spark_warehouse, table, Constraint("c", "unique", ("c",))).ok
    assert _validate(spark_warehouse, table, Constraint("c", "primary_key", ("c",))).violations == 2


def test_an_empty_table_keeps_every_constraint(spark_warehouse, tables):
    empty = spark_warehouse.table("a BIGINT")
    assert _validate(spark_warehouse, empty, Constraint("c", "primary_key", ("a",))).ok
    foreign = Constraint("c", "foreign_key", ("order",), ("lake", "d", empty), ("a",))
    assert _validate(spark_warehouse, tables[0], foreign).violations == 4


def test_spark_shows_and_removes_what_was_declared(spark_warehouse, tables):
    parts, name = ("lake", "d", tables[1]), f"lake.d.{tables[1]}"

    def properties():
        return {row["key"] for row in spark_warehouse.sql(f"SHOW TBLPROPERTIES {name}")}

    before = properties()
    declare.add(spark_warehouse.lake, parts, Constraint("pk", "primary_key", ("k",)))
    spark_warehouse.sql(f"REFRESH TABLE {name}")
    assert properties() - before == {"accelerator.constraint.pk"}
    spark_warehouse.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('accelerator.constraint.pk')")
    assert declare.constraints_of(spark_warehouse.lake, parts) == ()


def test_the_hint_plain_means_nothing_to_spark(spark_warehouse):
    statement = parse_statement("SELECT /*+ PLAIN */ 1 AS a")
    assert isinstance(statement, Query)
    assert spark_warehouse.sql(statement.sql) == spark_warehouse.sql(statement.bare)


@pytest.mark.parametrize(
    "sql",
    [
        "BUILD CUBE c",
        "COMPACT t",
        "PUBLISH CUBE c",
        "VERIFY SELECT 1",
        "CLUSTER t",
        "PURGE t",
        "UNDROP TABLE t",
        "OPTIMIZE t",
        "VACUUM t",
        "ANALYZE t",
        "ANALYZE WORKLOAD",
        "APPLY RECOMMENDATIONS FOR t",
        "SHOW RECOMMENDATIONS",
        "CREATE CUBE c AS SELECT 1",
        "DROP CUBE c",
        "DROP INDEX i",
        "SHOW CUBES",
        "SHOW CONSTRAINTS",
        "SHOW INDEXES",
        "SHOW RELATE COLUMNS",
        "EXPLAIN ACCELERATE SELECT 1",
        "EXPLAIN WHY NOT SELECT 1",
        "ALTER TABLE t VALIDATE CONSTRAINT c",
        "ALTER TABLE t ADD RELATE COLUMN c FROM b.c ON d = e",
        "ALTER TABLE t DROP RELATE COLUMN c",
    ],
)
def test_no_statement_of_sparks_has_our_words(spark_warehouse, sql):
    assert not isinstance(parse_statement(sql), Other)
    with pytest.raises(PySparkException, match="SQLSTATE: 42601"):
        spark_warehouse.spark.sql(sql)
