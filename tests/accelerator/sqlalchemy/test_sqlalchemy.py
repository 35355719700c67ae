"""SQLAlchemy over a small warehouse: reflection, Core and ORM, hostile names and texts."""

from __future__ import annotations

import json
import sqlite3
import threading
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy.dialects import registry
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import accelerator
from accelerator import dbapi
from accelerator.sqlalchemy.types import SparkType
from tests.support.pristine import Pristine

registry.register("accelerator", "accelerator.sqlalchemy.dialect", "AcceleratorDialect")

_NAMES = ["O'Hara", "plain", "${spark.master}", "back\\slash", "% _ ü😀", "a:b ?", "\n--", None]
_ODD = "odd `t` ? :x %s"
_AT = datetime(2024, 1, 2, 3, 4, 5, 678)


def _fill(catalog: SqlCatalog) -> None:
    for namespace in ("d", "other", ("empty",)):
        catalog.create_namespace(namespace)
    rows = pa.table(
        {
            "k": pa.array(range(8), pa.int32()),
            "name": _NAMES,
            "price": pa.array([Decimal("1.50")] * 8, pa.decimal128(9, 2)),
            "f": [1.5] * 8,
            "big": pa.array([2**40] * 8, pa.int64()),
            "yes": [True] * 8,
            "day": pa.array([date(2024, 1, 2)] * 8),
            "at": pa.array([_AT] * 8, pa.timestamp("us")),
            "zoned": pa.array([_AT] * 8, pa.timestamp("us", tz="UTC")),
            "raw": [b"\x00'"] * 8,
            "tags": pa.array([["a"]] * 8),
        }
    )
    catalog.create_table("d.t", rows.schema).append(rows)
    schema = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field(_ODD, pa.string())])
    stores = pa.table({"id": pa.array([0, 1], pa.int32()), _ODD: ["north", "south"]}, schema)
    place = catalog.properties["warehouse"] + "odd"
    catalog.create_table(("d", _ODD), schema, location=place).append(stores)
    catalog.create_table("other.t", rows.schema.remove(10))


@pytest.fixture
def root(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(_fill)


@pytest.fixture
def engine(root: Path) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"accelerator://{root}")
    yield made
    made.dispose()


@pytest.fixture
def t(engine: sa.Engine) -> sa.Table:
    return sa.Table("t", sa.MetaData(), schema="d", autoload_with=engine)


@pytest.fixture
def odd(engine: sa.Engine) -> sa.Table:
    return sa.Table(_ODD, sa.MetaData(), schema="d", autoload_with=engine)


def _rows(engine: sa.Engine, asked: Any) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(asked)]


def test_the_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    home, _, name = project["entry-points"]["sqlalchemy.dialects"]["accelerator"].partition(":")
    assert getattr(import_module(home), name) is registry.load("accelerator")
    assert any(
        one.startswith("sqlalchemy") for one in project["optional-dependencies"]["sqlalchemy"]
    )


def test_what_is_there(engine: sa.Engine) -> None:
    found = sa.inspect(engine)
    assert found.get_schema_names() == ["d", "empty", "other"]
    assert found.get_table_names("d") == sorted(["t", _ODD])
    assert found.get_table_names("lake.d") == sorted(["t", _ODD])
    assert (found.get_table_names("empty"), found.get_table_names("nobody")) == ([], [])
    assert (found.get_table_names(), found.default_schema_name) == ([], None)
    assert found.get_table_names("a`") == []
    assert found.has_table("t", "d")
    assert not found.has_table("t")
    assert not found.has_table("u", "d")
    with pytest.raises(sa.exc.NoSuchTableError):
        found.get_columns("u", "d")
    assert (found.get_indexes("t", "d"), found.get_check_constraints("t", "d")) == ([], [])
    assert found.get_view_names("d") == []


def test_columns(engine: sa.Engine, t: sa.Table, odd: sa.Table) -> None:
    kinds = {column.name: column.type for column in t.columns}
    expected = {
        "k": sa.Integer,
        "name": sa.String,
        "price": sa.Numeric,
        "f": sa.Double,
        "big": sa.BigInteger,
        "yes": sa.Boolean,
        "day": sa.Date,
        "at": sa.DateTime,
        "zoned": sa.DateTime,
        "raw": sa.LargeBinary,
        "tags": SparkType,
    }
    assert {name: type(kind) for name, kind in kinds.items()} == expected
    assert (kinds["price"].precision, kinds["price"].scale) == (9, 2)  # type: ignore[attr-defined]
    assert kinds["zoned"].timezone  # type: ignore[attr-defined]
    assert str(kinds["tags"].compile(engine.dialect)) == "array<string>"
    assert [column.nullable for column in odd.columns] == [False, True]


def test_declared_keys(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        for text in (
            "ALTER TABLE d.t ADD CONSTRAINT pk PRIMARY KEY (k) NOT ENFORCED",
            "ALTER TABLE d.t ADD CONSTRAINT u UNIQUE (name, k) NOT ENFORCED",
            "ALTER TABLE other.t ADD CONSTRAINT fk FOREIGN KEY (k) REFERENCES d.t (k) NOT ENFORCED",
        ):
            connection.exec_driver_sql(text)
    found = sa.inspect(engine)
    assert found.get_pk_constraint("t", "d")["constrained_columns"] == ["k"]
    assert found.get_pk_constraint("t", "other")["constrained_columns"] == []
    assert found.get_unique_constraints("t", "d")[0]["column_names"] == ["name", "k"]
    (key,) = found.get_foreign_keys("t", "other")
    assert (key["referred_schema"], key["referred_table"]) == ("d", "t")
    assert (key["constrained_columns"], key["referred_columns"]) == (["k"], ["k"])
    with pytest.raises(sa.exc.NoSuchTableError):
        found.get_pk_constraint("u", "d")


def test_views(engine: sa.Engine, root: Path) -> None:
    version = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "default-namespace": ["d"],
        "representations": [{"type": "sql", "sql": "SELECT k FROM d.t", "dialect": "spark"}],
    }
    field = {"id": 1, "name": "k", "required": False, "type": "int"}
    content = {
        "view-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "format-version": 1,
        "location": f"file://{root}/v",
        "current-version-id": 1,
        "versions": [version],
        "version-log": [{"version-id": 1, "timestamp-ms": 1}],
        "schemas": [{"schema-id": 0, "type": "struct", "fields": [field]}],
    }
    metadata = root / "v.metadata.json"
    metadata.write_text(json.dumps(content))
    with sqlite3.connect(root / "catalog.db") as catalog:
        catalog.execute(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
            " metadata_location, iceberg_type) VALUES ('lake', 'd', 'v', ?, 'VIEW')",
            (metadata.as_uri(),),
        )
    catalog.close()
    found = sa.inspect(engine)
    assert found.get_view_names("d") == ["v"]
    assert "v" not in found.get_table_names("d")
    assert found.get_view_definition("v", "d") == "SELECT k FROM d.t"
    assert [one["name"] for one in found.get_columns("v", "d")] == ["k"]
    assert found.get_pk_constraint("v", "d")["constrained_columns"] == []
    v = sa.Table("v", sa.MetaData(), schema="d", autoload_with=engine)
    assert _rows(engine, sa.select(v.c.k).where(v.c.k < 2).order_by(v.c.k)) == [(0,), (1,)]


@pytest.mark.parametrize("k", range(7))
def test_hostile_texts(engine: sa.Engine, t: sa.Table, k: int) -> None:
    for name in (sa.bindparam("n", _NAMES[k]), sa.literal(_NAMES[k], literal_execute=True)):
        assert _rows(engine, sa.select(t.c.k).where(t.c.name == name)) == [(k,)]
    asked = sa.select(t.c.k).where(t.c.name.in_([_NAMES[k], "nobody"]))
    assert _rows(engine, asked) == [(k,)]
    text = str(asked.compile(engine, compile_kwargs={"literal_binds": True}))
    with engine.connect() as connection:
        assert connection.exec_driver_sql(text).fetchall() == [(k,)]


def test_hostile_names(engine: sa.Engine, t: sa.Table, odd: sa.Table) -> None:
    asked = (
        sa.select(t.c.k.label("` ? :y"), odd.c[_ODD])
        .join(odd, t.c.k == odd.c.id)
        .where(odd.c[_ODD] == "south")
    )
    assert _rows(engine, asked) == [(1, "south")]
    other = odd.alias("a ` b")
    assert _rows(engine, sa.select(other.c.id).where(other.c[_ODD] == "north")) == [(0,)]


def test_selects(engine: sa.Engine, t: sa.Table, odd: sa.Table) -> None:
    k = t.c.k
    below = sa.select(k, t.c.name).where(k < 3)
    for asked, rows in (
        (sa.select(k).where(k.between(2, 3)).order_by(k.desc()), [(3,), (2,)]),
        (sa.select(k).order_by(k).limit(2).offset(1), [(1,), (2,)]),
        (sa.select(k).order_by(k).fetch(2), [(0,), (1,)]),
        (sa.select(k).where(k.in_([])), []),
        (sa.select(sa.func.count()).select_from(t).where(k.not_in([])), [(8,)]),
        (sa.select(sa.func.count(), sa.func.sum(k)).select_from(t), [(8, 28)]),
        (sa.select(t.c.price, sa.func.count()).group_by(t.c.price), [(Decimal("1.50"), 8)]),
        (sa.select(t.c.yes).group_by(t.c.yes).having(sa.func.count() > 9), []),
        (sa.select(k).where(t.c.name.is_(None)), [(7,)]),
        (sa.select(k).where(sa.and_(t.c.yes, k == 1)), [(1,)]),
        (sa.select(k).where(t.c.name.like("O'%")), [(0,)]),
        (sa.select(k).where(t.c.name.is_not_distinct_from("plain")), [(1,)]),
        (sa.select((t.c.name + "!").label("x")).where(k == 1), [("plain!",)]),
        (sa.select(t.c.name + "!" + "?").where(k == 1), [("plain!?",)]),
        (sa.select(sa.cast(k, sa.BigInteger).label("x")).where(k == 1), [(1,)]),
        (sa.select(sa.case((k > 1, "b"), else_="s").label("x")).where(k == 1), [("s",)]),
        (sa.select(k).where(t.c.price == Decimal("1.5"), k == 1), [(1,)]),
        (sa.select(k).where(t.c.day == date(2024, 1, 2), k == 1), [(1,)]),
        (sa.select(k).where(t.c.at == _AT, k == 1), [(1,)]),
        (sa.select(k).where(t.c.zoned == _AT.replace(tzinfo=UTC), k == 1), [(1,)]),
        (sa.select(below.subquery().c.k).order_by("k"), [(0,), (1,), (2,)]),
        (sa.select(below.cte("b").c.k).order_by("k"), [(0,), (1,), (2,)]),
        (
            sa.select(k, odd.c[_ODD]).outerjoin(odd, odd.c.id == k).where(k < 3).order_by(k),
            [(0, "north"), (1, "south"), (2, None)],
        ),
    ):
        assert _rows(engine, asked) == rows, str(asked)


def test_tables_of_one_name(engine: sa.Engine, t: sa.Table, odd: sa.Table) -> None:
    other = sa.Table("t", sa.MetaData(), schema="other", autoload_with=engine)
    asked = sa.select(t.c.k, other.c.k).outerjoin(other, other.c.k == t.c.k).where(t.c.k == 1)
    assert _rows(engine, asked) == [(1, None)]
    alike = odd.alias("T")
    asked = sa.select(t.c.k).join(alike, alike.c.id == t.c.k).where(alike.c[_ODD] == "south")
    assert _rows(engine, asked) == [(1,)]
    hidden = odd.alias("t")
    within = sa.select(hidden.c.id).where(hidden.c.id == t.c.k).exists()
    text = str(sa.select(t.c.k).where(within).compile(engine))
    assert "`t`.`id` = `t_1`.`k`" in text
    assert "FROM `d`.`t` AS `t_1`" in text
    twice = t.alias()
    asked = sa.select(t.c.k, twice.c.k).join(twice, twice.c.k == t.c.k).where(t.c.k == 1)
    assert _rows(engine, asked) == [(1, 1)]
    words = sa.select(t.c.k).where(sa.text("t.k = 1 AND d.t.k = 1"))
    assert _rows(engine, words) == [(1,)]


def test_parts_of_texts_are_answered_in_process(engine: sa.Engine, t: sa.Table) -> None:
    k, name = t.c.k, t.c.name
    for _ in range(2):
        for part, rows in (("lai", [(1,)]), ("'H", [(0,)]), ("nobody", [])):
            assert _rows(engine, sa.select(k).where(name.contains(part))) == rows
    assert _rows(engine, sa.select(k).where(name.startswith("pl"))) == [(1,)]
    assert _rows(engine, sa.select(k).where(name.endswith("ra"))) == [(0,)]
    without = sa.select(k).where(~name.contains("a"), ~name.startswith("x"), ~name.endswith("x"))
    assert _rows(engine, without.order_by(k)) == [(4,), (6,)]
    plain = sa.literal("plain")
    both = sa.select(k).where(name == plain, name.contains(plain), name.startswith(plain))
    assert _rows(engine, both) == [(1,)]
    twice = name.contains("lai")
    found = _rows(engine, sa.select(k).where(twice, sa.or_(twice, k == 0)))
    assert found == [(1,)]
    text = str(sa.select(k).where(twice).compile(engine, compile_kwargs={"literal_binds": True}))
    assert text.endswith("LIKE '%lai%')")


def test_what_spark_reads_otherwise(engine: sa.Engine, t: sa.Table) -> None:
    k, name = t.c.k, t.c.name
    for asked, part in (
        (name + (k + 1).cast(sa.String), "concat(`t`.`name`, CAST(`t`.`k` + ? AS STRING))"),
        (name.contains(name), "LIKE concat('%', `t`.`name`, '%')"),
        (name.endswith(sa.bindparam("n", "a")), "LIKE concat('%', ?)"),
        (name.startswith("a", autoescape=True), "LIKE ? ESCAPE '/'"),
        (name.like("a", escape="\\"), "LIKE ?"),
        (name.not_ilike("a"), "NOT ILIKE ?"),
        (k / 2, "`t`.`k` / ?"),
        (k.is_distinct_from(2), "NOT (`t`.`k` <=> ?)"),
        (name.regexp_match("^a"), "RLIKE ?"),
        (~name.regexp_match("^a"), "NOT (`t`.`name` RLIKE ?)"),
        (name.regexp_replace("a", "b"), "regexp_replace(`t`.`name`, ?, ?)"),
        (sa.cast(k, sa.Numeric), "AS DECIMAL(38, 18)"),
        (sa.cast(k, sa.Numeric(5, 1)), "AS DECIMAL(5, 1)"),
        (sa.cast(k, sa.String(5)), "AS STRING"),
        (sa.cast(k, sa.DateTime), "AS TIMESTAMP_NTZ"),
        (sa.cast(k, sa.DateTime(timezone=True)), "AS TIMESTAMP)"),
        (sa.cast(k, sa.Float(20)), "AS FLOAT"),
        (sa.cast(k, sa.Float), "AS DOUBLE"),
        (sa.cast(k, sa.LargeBinary), "AS BINARY"),
    ):
        assert part in str(sa.select(asked).compile(engine))
    assert str(sa.select(k).offset(3).compile(engine)).endswith(" OFFSET ?")


def test_what_is_refused(engine: sa.Engine, t: sa.Table) -> None:
    k, name = t.c.k, t.c.name
    for asked in (
        *(t.insert().values(k=1), t.update().values(k=1), t.delete()),
        sa.select(k).with_for_update(),
        sa.select(k).order_by(k).fetch(1, with_ties=True),
        sa.select(sa.cast(k, sa.Time)),
        sa.select(k).where(name.like("a", escape="'")),
        sa.select(name.regexp_match("a", flags="i")),
    ):
        with pytest.raises(sa.exc.CompileError):
            asked.compile(engine)
    with pytest.raises(sa.exc.CompileError):
        sa.Table("new", sa.MetaData(), sa.Column("a", sa.Integer)).create(engine)
    with pytest.raises(sa.exc.CompileError):
        pd.DataFrame({"a": [1]}).to_sql("new", engine, schema="d")
    unfit = sa.select(k).where(name == sa.literal("\ud800"))
    with pytest.raises(sa.exc.CompileError, match="Unicode"):
        unfit.compile(engine, compile_kwargs={"literal_binds": True})
    with pytest.raises(sa.exc.ProgrammingError, match="Unicode"):
        _rows(engine, unfit)


class _Base(DeclarativeBase):
    pass


class _Row(_Base):
    __tablename__ = "t"
    __table_args__ = {"schema": "d"}  # noqa: RUF012
    k: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None]
    price: Mapped[Decimal]
    raw: Mapped[bytes]


def test_the_orm_reads(engine: sa.Engine) -> None:
    with Session(engine) as session:
        found = session.scalars(sa.select(_Row).where(_Row.k > 5).order_by(_Row.k)).all()
        assert [(one.k, one.name, one.price) for one in found] == [
            (6, "\n--", Decimal("1.50")),
            (7, None, Decimal("1.50")),
        ]
        one = session.get(_Row, 0)
        assert one is not None
        assert (one.name, one.raw) == ("O'Hara", b"\x00'")
        session.commit()
        session.add(_Row(k=9, name="new", price=Decimal(1), raw=b""))
        with pytest.raises(sa.exc.CompileError, match="only reads"):
            session.flush()
        session.rollback()
        assert session.get(_Row, 1) is not None


def test_pandas_and_polars_read(engine: sa.Engine, root: Path, t: sa.Table) -> None:
    sql = "SELECT k, name FROM d.t WHERE name = ?"
    assert pd.read_sql(sql, engine, params=("O'Hara",))["k"].tolist() == [0]
    named = sa.text("SELECT k FROM d.t WHERE name = :n")
    assert pd.read_sql(named, engine, params={"n": "O'Hara"})["k"].tolist() == [0]
    table = pd.read_sql_table("t", engine, schema="d", columns=["k", "at", "price"])
    assert table["at"].tolist() == [pd.Timestamp(_AT)] * 8
    with engine.connect() as connection:
        frame = pl.read_database(sa.select(t.c.k, t.c.price).order_by(t.c.k), connection)
    assert frame["k"].to_list() == list(range(8))
    assert frame.schema["price"] == pl.Decimal(9, 2)
    with dbapi.connect(root) as plain:
        found = pl.read_database(sql, plain, execute_options={"parameters": ["O'Hara"]})
    assert found.rows() == [(0, "O'Hara")]


def test_engines_are_made_by_urls(engine: sa.Engine, root: Path) -> None:
    named = sa.create_engine(
        f"accelerator://?catalog_uri=sqlite:///{root}/catalog.db&store={root}/.accelerator"
        "&catalog_name=lake&dialect=trino"
    )
    assert _rows(named, sa.text("SELECT `k` FROM lake.d.t WHERE k = 1")) == [(1,)]
    named.dispose()
    for url, kind, message in (
        ("accelerator:////no/such", sa.exc.ProgrammingError, "no warehouse in /no/such"),
        (f"accelerator://{root}?nope=1", sa.exc.ProgrammingError, "unknown setting 'nope'"),
        ("accelerator://host/x", sa.exc.ArgumentError, "write accelerator:///path"),
        (f"accelerator://{root}?store=a&store=b", sa.exc.ArgumentError, "more than once"),
    ):
        with pytest.raises(kind, match=message):
            sa.create_engine(url).connect()


def test_an_engine_over_a_session(root: Path) -> None:
    with accelerator.open(root, dialect="trino") as session:
        made = sa.create_engine("accelerator://", connect_args={"session": session})
        assert _rows(made, sa.text("SELECT `k` FROM d.t WHERE k = :k").params(k=1)) == [(1,)]
        made.dispose()
        assert session.query("SELECT k FROM d.t").num_rows == 8
    with pytest.raises(sa.exc.InterfaceError, match="closed"):
        _rows(made, sa.text("SELECT k FROM d.t"))


def test_an_engine_lives_on_and_threads_share_it(engine: sa.Engine, t: sa.Table) -> None:
    asked = sa.select(sa.func.count()).select_from(t)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.extend(_rows(engine, asked))) for _ in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [(8,)] * 4
    engine.dispose()
    assert _rows(engine, asked) == [(8,)]
    with engine.begin() as connection:
        assert connection.get_isolation_level() == "AUTOCOMMIT"
        connection.execute(asked)


def test_whole_numbers_are_divided_without_a_floating_one(engine: sa.Engine, t: sa.Table) -> None:
    text = str((t.c.big // 3).compile(dialect=engine.dialect))
    assert " div " in text and "FLOOR" not in text
    with pytest.raises(sa.exc.CompileError, match="floor"):
        (t.c.f // 2).compile(dialect=engine.dialect)


def test_an_interval_is_no_moment(engine: sa.Engine, t: sa.Table) -> None:
    later = sa.select(t.c.at - timedelta(days=1))
    for kwargs in ({}, {"literal_binds": True}):
        with pytest.raises(sa.exc.CompileError, match="interval"):
            later.compile(dialect=engine.dialect, compile_kwargs=kwargs)
