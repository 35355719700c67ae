"""What SQLAlchemy's expressions mean is what Spark answers, where only Spark does."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry

from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True

registry.register("accelerator", "accelerator.sqlalchemy.dialect", "AcceleratorDialect")


def test_expressions_that_only_spark_answers(spark_warehouse: SparkWarehouse) -> None:
    name = spark_warehouse.table("k INT, s STRING, d DECIMAL(9,2), tags ARRAY<STRING>")
    spark_warehouse.sql(
        f"INSERT INTO lake.d.{name} VALUES (1, 'a%b', 1.5, array('x')), (2, 'A\\\\b', 2.5, NULL),"
        " (3, NULL, NULL, NULL)"
    )
    with spark_warehouse.attach() as acc:
        engine = sa.create_engine("accelerator://", connect_args={"session": acc})
        t = sa.Table(name, sa.MetaData(), schema="lake.d", autoload_with=engine)
        k, s = t.c.k, t.c.s
        values = sa.values(sa.column("x", sa.Integer), sa.column("y", sa.String), name="v")
        pairs = values.data([(1, "it's"), (2, "${x}")])
        asked: list[tuple[Any, list[tuple[Any, ...]]]] = [
            (sa.select(k).where(s.contains("%", autoescape=True)), [(1,)]),
            (sa.select(k).where(s.like("A\\\\%", escape="\\")), [(2,)]),
            (sa.select(k).where(s.ilike("a%")).order_by(k), [(1,), (2,)]),
            (sa.select(k).where(s.icontains("B")).order_by(k), [(1,), (2,)]),
            (sa.select(k).where(s.regexp_match("^[aA]")).order_by(k), [(1,), (2,)]),
            (sa.select(s.regexp_replace("%", "-")).where(k == 1), [("a-b",)]),
            (sa.select(k / 2, k // 2, k % 2).where(k == 3), [(1.5, 1, 1)]),
            (sa.select(k).where(k.in_(sa.select(k).where(k > 2))), [(3,)]),
            (sa.select(k).where(sa.tuple_(k, s).in_([(1, "a%b"), (2, "z")])), [(1,)]),
            (sa.select(k).where(sa.tuple_(k, s).in_([])), []),
            (sa.select(k).order_by(k).offset(2), [(3,)]),
            (sa.select(k).order_by(k.desc().nulls_last()).limit(1).offset(1), [(2,)]),
            (sa.select(s + "x" + sa.cast(k + 1, sa.String)).where(k == 1), [("a%bx2",)]),
            (sa.select(sa.cast("1.25", sa.Numeric)).where(sa.true()), [(Decimal("1.25"),)]),
            (sa.select(sa.func.row_number().over(order_by=k)).where(k == 3), [(1,)]),
            (sa.select(sa.extract("year", sa.func.now()) > 2000), [(True,)]),
            (sa.select(pairs.c.x, pairs.c.y).order_by(pairs.c.x), [(1, "it's"), (2, "${x}")]),
            (sa.union_all(sa.select(k), sa.select(k + 1)).order_by("k").limit(2), [(1,), (2,)]),
            (sa.select(t.c.tags).where(k == 1), [(["x"],)]),
            (sa.select(k).where(~sa.exists().where(t.alias().c.k == k)), []),
        ]
        with engine.connect() as connection:
            for query, rows in asked:
                assert [tuple(row) for row in connection.execute(query)] == rows, str(query)
        engine.dispose()
