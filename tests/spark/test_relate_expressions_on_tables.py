"""Relate columns that are expressions: answers are plain Spark's, and files are left out by them.

Strategy: a fact of ten files, of which each has keys of its own, beside keys that are NULL or have
no partner; a dimension `d` of its keys and the outer dimension `o` of that. Each statement says
whether files must be left out; all are compared with plain Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import ArithmeticException

from accelerator.errors import AcceleratorError
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential
from tests.spark.relate_world import SMALL_GROUPS, World, literal

pytestmark = pytest.mark.spark

FILES = 10
_KEYS = 10  # of each file
_RELATES = {
    "place": ("concat({d}.city, ', ', {o}.country)", "BITMAP BLOOM NGRAM_BLOOM"),
    "area": ("({d}.w * {d}.h)", "RANGE BOUNDS"),
    "birth_year": ("year({d}.born)", "BITMAP"),
    "label": ("coalesce({d}.city, 'none')", "BITMAP"),
    "either": ("coalesce({o}.country, {d}.city)", "BOUNDS"),
    "wide": ("{d}.w > {d}.h", "BITMAP"),
    "share": ("{d}.x * 2D + {d}.w / 4", "BOUNDS"),
    "size": ("CASE WHEN {d}.w > 8 THEN 'big' WHEN {d}.h < 40 THEN {o}.country END", "BITMAP"),
}
_D = "FROM {f} f JOIN {d} d ON f.k = d.k WHERE "
_LEFT = "FROM {f} f LEFT JOIN {d} d ON f.k = d.k WHERE "
_MORE = "FROM {f} f LEFT JOIN {d} d ON f.k = d.k AND d.w <> 4 WHERE "
_O = "FROM {f} f JOIN {d} d ON f.k = d.k JOIN {o} o ON d.ok = o.ok WHERE "
_LO = "FROM {f} f LEFT JOIN {d} d ON f.k = d.k LEFT JOIN {o} o ON d.ok = o.ok WHERE "
_DO = "FROM {f} f JOIN {d} d ON f.k = d.k LEFT JOIN {o} o ON d.ok = o.ok WHERE "
_OM = "FROM {f} f JOIN {d} d ON f.k = d.k LEFT JOIN {o} o ON d.ok = o.ok AND d.w <> 4 WHERE "
_PLACE = "concat(d.city, ', ', o.country)"
CASES = [
    # forms of joins
    (_O + f"{_PLACE} = 'city2, land2'", True),
    (_LO + f"{_PLACE} = 'city2, land2'", True),
    (_LO + f"{_PLACE} IS NULL", True),
    (_OM + f"{_PLACE} = 'city2, land2'", True),
    (_OM + f"{_PLACE} IS NULL", False),
    ("FROM {o} o, {d} d, {f} f WHERE o.ok = d.ok AND f.k = d.k AND concat(d.city, ', ',"
     " o.country) = 'city2, land2'", True),
    ("FROM {f} f LEFT SEMI JOIN {d} d ON f.k = d.k AND year(d.born) = 1960", True),
    ("FROM {f} f WHERE EXISTS (SELECT 1 FROM {d} d WHERE d.k = f.k AND year(d.born) = 1960)",
     True),
    # kinds of predicates
    (_D + "d.w * d.h BETWEEN 80 AND 120", True),
    (_D + "850 < d.h * d.w", True),
    (_D + "year(d.born) = 1952 OR d.w * d.h > 850", True),
    (_D + "year(d.born) IS NULL", True),
    (_D + "d.w > d.h", True),
    (_D + "d.h < d.w AND f.v < 300", True),
    (_D + "d.x * 2D + d.w / 4 < 3.5", True),
    (_DO + "CASE WHEN d.w > 8 THEN 'big' WHEN d.h < 40 THEN o.country END = 'land3'", True),
    (_DO + "CASE WHEN d.w > 8 THEN 'big' WHEN d.h < 40 THEN o.country END IS NULL", True),
    # not NULL of a row that the join pads
    (_D + "coalesce(d.city, 'none') = 'city7'", True),
    (_LEFT + "coalesce(d.city, 'none') = 'none'", False),
    (_MORE + "coalesce(d.city, 'none') = 'none'", False),
    (_MORE + "d.w * d.h > 850", True),
    (_MORE + "year(d.born) IS NULL", False),
    (_LEFT + "year(d.born) IS NULL", True),
    (_DO + "coalesce(o.country, d.city) = 'city8'", True),
    (_LO + "coalesce(o.country, d.city) = 'city8'", True),
    (_LO + "coalesce(o.country, d.city) IS NULL", True),
    (_OM + "coalesce(o.country, d.city) = 'city4'", False),
    # of other columns, other constants, another order
    (_O + "concat(d.city, ',', o.country) = 'city2,land2'", False),
    (_D + "d.h > d.w", False),
]  # fmt: skip


class Shop:
    """The tables, their relate columns and indexes."""

    def __init__(self, wh: SparkWarehouse, acc: Accelerator) -> None:
        self.wh, self.acc = wh, acc
        self.names = {
            "f": f"lake.d.{wh.table('k INT, v INT', properties=SMALL_GROUPS)}",
            "d": "lake.d."
            + wh.table("k INT, city STRING, w INT, h INT, x DOUBLE, born DATE, ok INT"),
            "o": f"lake.d.{wh.table('ok INT, country STRING')}",
        }
        self.sql(
            "INSERT INTO {d} SELECT CAST(id AS INT), CASE ten WHEN 9 THEN NULL WHEN 3 THEN"
            " concat('ü 😀 ', id % 2) ELSE concat('city', ten) END, ten, CAST(id AS INT), id / 10,"
            " IF(ten = 6, NULL, make_date(1950 + CAST(id DIV 5 AS INT), 2, 1)),"
            " IF(ten = 8, NULL, ten) FROM (SELECT id, CAST(id DIV 10 AS INT) AS ten FROM"
            " range(100))"
        )
        self.sql("UPDATE {d} SET h = 1 WHERE k IN (41, 42, 43)")
        self.sql("INSERT INTO {o} SELECT CAST(id AS INT), concat('land', id) FROM range(8)")
        self.sql(
            f"INSERT INTO {{f}} SELECT /*+ REPARTITION_BY_RANGE({FILES}, part) */ CASE WHEN id % 50"
            " = 0 AND part < 3 THEN NULL WHEN id % 51 = 0 AND part < 3 THEN 1000 + part ELSE"
            f" CAST(part * {_KEYS} + id % {_KEYS} AS INT) END, CAST(id AS INT) FROM (SELECT id,"
            f" CAST(id DIV 120 AS INT) AS part FROM range({FILES * 120}))"
        )
        for name, (text, kinds) in _RELATES.items():
            chain = " AND {d}.ok = {o}.ok" if "{o}" in text else ""
            acc.execute(
                self.text(
                    f"ALTER TABLE {{f}} ADD RELATE COLUMN FROM {text} ON {{f}}.k = {{d}}.k{chain}"
                    f" AS {name}"
                )
            )
            for kind in kinds.split():
                acc.execute(
                    self.text(f"CREATE INDEX {name}_{kind} ON {{f}} USING {kind} ({name}) DEFERRED")
                )
        self.built()

    def text(self, text: str) -> str:
        return text.format(**self.names)

    def sql(self, text: str) -> None:
        self.wh.sql(self.text(text))

    def query(self, rest: str) -> str:
        return self.text(f"SELECT count(*) AS n, sum(f.v) AS s {rest}")

    def ask(self, rest: str) -> int:
        """Data files that aren't read; the answer is plain Spark's, and nothing fails inside."""
        query, before = self.query(rest), dict(self.acc.fallbacks)
        answer = self.acc.query(query)
        assert differ(answer.arrow(), self.acc.services.plain_table(query)) == [], query
        assert self.acc.fallbacks == before, query
        metrics = answer.metrics
        return metrics.files_total - metrics.files_read if metrics.rewritten else 0

    def built(self) -> dict[str, int]:
        """Files that each index's build has read anew."""
        rows = self.acc.execute(self.text("BUILD ALL ON {f}")).to_pylist()
        return {row["cube"]: row["files"] for row in rows if row["files"]}


@pytest.fixture(scope="module")
def shop(
    spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    store = tmp_path_factory.mktemp("expressions")
    with spark_warehouse.attach(store=str(store)) as session:
        yield Shop(spark_warehouse, session)


@pytest.mark.long
def test_statements(shop: Shop) -> None:
    wrong = [rest for rest, wanted in CASES if bool(shop.ask(rest)) != wanted]
    assert wrong == []


def test_spark_joins_what_is_left(shop: Shop) -> None:
    queries = [shop.query(rest) for rest, wanted in CASES[:2] if wanted]
    Differential(shop.acc).check(queries, spark=queries)


def test_texts_put_together_in_process(shop: Shop) -> None:
    place = "concat(d.city, '|', o.country, '', d.city)"
    query = shop.text(
        f"SELECT {place} AS p, concat(d.city) AS c, count(*) AS n {_DO} d.h < 50"
        f" AND coalesce({place}, 'x') <> 'y' AND year(d.born) < 1958 GROUP BY 1, 2"
    )
    Differential(shop.acc).check([query])
    assert shop.acc.query(query).metrics.engine == "duckdb"


def test_they_are_shown_and_explained(shop: Shop) -> None:
    rows = shop.acc.execute(shop.text("SHOW RELATE COLUMNS ON {f}")).to_pylist()
    told = {row["name"]: (row["type"], row["attribute"], row["status"]) for row in rows}
    assert told["area"] == ("int", shop.text("({d}.w * {d}.h)"), "ok")
    assert told["place"] == ("string", shop.text("concat({d}.city, ', ', {o}.country)"), "ok")
    assert told["share"][0] == "double"
    text = shop.acc.explain(shop.query(_D + "d.w * d.h > 850"))
    assert "relate column area" in text and shop.text("by {d}, is ({d}.w * {d}.h)") in text


_AREA = _D + "d.w * d.h BETWEEN 300 AND 330"


def test_a_change_of_the_dimension_counts_where_the_value_differs(shop: Shop) -> None:
    """One of the last over the shop, which it changes."""
    assert shop.ask(_AREA) > 0
    shop.sql("UPDATE {d} SET w = h, h = w WHERE k = 55")
    assert shop.ask(_AREA) > 0
    assert shop.built() == {"wide_BITMAP": 1, "size_BITMAP": 1, "share_BOUNDS": 1}
    shop.sql("UPDATE {d} SET h = 39 WHERE k = 15")
    assert shop.ask(_D + "d.w * d.h BETWEEN 36 AND 39") >= FILES - 2
    assert shop.built() == {"area_RANGE": 1, "area_BOUNDS": 1}
    assert shop.ask(_D + "d.w * d.h BETWEEN 36 AND 39") >= FILES - 2


def test_columns_that_change(shop: Shop) -> None:
    """Renamed ones stay; one of another type, or of values that may raise, ends it."""
    shop.sql("ALTER TABLE {d} RENAME COLUMN h TO tall")
    area = _D + "d.w * d.tall BETWEEN 300 AND 330"
    assert shop.ask(area) > 0
    snapshot = shop.wh.sql(shop.text("SELECT snapshot_id FROM {d}.refs"))[0][0]
    shop.sql("INSERT INTO {d} SELECT 5000, 'x', 2000000000, 1, 1, NULL, 1")
    query = shop.query(area)
    assert "all rows of " in shop.acc.explain(query)  # each row is tested
    assert shop.ask(area) == 0
    # A state is read under its own names.
    assert shop.ask(_AREA.replace("{d} d", f"{{d}} VERSION AS OF {snapshot} d")) > 0
    shop.sql("UPDATE {d} SET tall = 5 WHERE k = 5000")
    # Plain Spark's own; where the thread fails that makes a broadcast, it isn't told apart.
    with pytest.raises((ArithmeticException, Py4JError), match="ARITHMETIC_OVERFLOW"):
        shop.acc.query(query)
    with pytest.raises(AcceleratorError, match="area can't be computed"):
        shop.acc.execute("BUILD INDEX area_RANGE")
    shop.sql("DELETE FROM {d} WHERE k = 5000")
    with shop.wh.live(store=shop.acc.config.store) as live:  # what rewrites files sets settings
        (row,) = live.execute(shop.text("OPTIMIZE {f} SORT BY (area DESC)")).to_pylist()
    assert (row["files_before"], row["rows"]) == (FILES, FILES * 120)
    assert set(shop.built()) >= {"area_RANGE", "place_BITMAP"}
    shop.ask(area)
    shop.sql("ALTER TABLE {d} ALTER COLUMN w TYPE BIGINT")
    assert shop.ask(area) == 0
    rows = shop.acc.execute(shop.text("SHOW RELATE COLUMNS ON {f}")).to_pylist()
    status = {row["name"]: row["status"] for row in rows}
    assert status["area"] == "w was int when area was declared, and is bigint now"
    assert status["birth_year"] == "ok"


_RANDOM: dict[str, tuple[str, str, tuple[object, ...]]] = {
    "filled": ("coalesce({a}.{name}, 'none')", "BITMAP", ("none", "n0x", "n4x")),
    "total": ("{a}.{n} * 2 + {a}.{ok}", "RANGE", (0, 5, 12, 20)),
    "lacks": ("{a}.{n} IS NULL", "BITMAP", (True, False)),
    "both": ("concat({a}.{name}, '-', {o}.{land})", "BITMAP", ("n0x-land0", "n4x-land2")),
    "first": ("coalesce({o}.{land}, {a}.{name})", "BITMAP", ("land0", "land2", "n4x")),
    "since_month": ("year({o}.{since}) * 100 + month({o}.{since})", "BOUNDS", (202001, 202004)),
    "either": (
        "CASE WHEN {a}.{n} < 5 THEN {a}.{name} ELSE {o}.{land} END",
        "BLOOM",
        ("n0x", "n1x", "land1", "land2"),
    ),
}
"""Relate columns beside those of the random star: text, an index's kind, constants."""


class _Computed(World):
    """A random star with relate columns that are expressions, of which its predicates are full."""

    def make(self, *, files: int = 4, rows: int = 80) -> None:
        super().make(files=files, rows=rows)
        for name, (text, kind, _) in _RANDOM.items():
            outer = "{o}" in text
            chain = " AND {a}.ok = {o}.ok" if outer else ""
            columns = {**self.columns["o"], **self.columns["a"]}
            self.acc.execute(
                f"ALTER TABLE {self.names['f']} ADD RELATE COLUMN {name} FROM"
                f" {text.format(**self.names, **columns)} ON "
                + self.text(f"{{f}}.ak = {{a}}.k{chain}")
            )
            self.index(f"x_{name}", name, kind)
        self.build()

    def _leaf(self, short: str, aliases: dict[str, str]) -> str:
        r = self.r
        if short not in ("a", "a2", "o") or r.random() < 0.3:
            return super()._leaf(short, aliases)
        wanted = [n for n, (text, *_) in _RANDOM.items() if ("{o}" in text) == (short == "o")]
        text, _, pool = _RANDOM[r.choice(wanted)]
        columns = {**self.columns["o"], **self.columns["a"]}
        tables = {"a": aliases["a2" if short == "a2" else "a"], "o": aliases.get("o", "")}
        value = f"({text.format(**tables, **columns)})"
        one, other = (literal(r.choice(pool)) for _ in range(2))
        forms = [
            f"{value} = {one}",
            f"{one} = {value}",
            f"{value} IN ({one}, {other})",
            f"{value} IS NULL",
            f"{value} IS NOT NULL",
            f"NOT ({value} = {one})",
            f"{value} <=> {one}",
            f"{value} <> {one}",
            f"{value} >= {one}",
        ]
        return r.choice(forms)


def play(wh: SparkWarehouse, store: Path, seed: int, *, steps: int, asked: int) -> Counter[str]:
    """One star's life, as in `test_relate.py`."""
    told: Counter[str] = Counter()
    with wh.attach(store=str(store), engine="auto") as acc:
        world = _Computed(wh, acc, Random(seed))
        world.make()
        both, history = Differential(acc), [f"seed {seed}"]
        for step in range(steps + 1):
            if step:
                history.append(world.change())
                if world.r.random() < 0.5:
                    world.build()
            both.changed()
            queries = [world.query(travel=step > 0) for _ in range(asked)]
            both.check(queries, rewritten=None, where=", ".join(history))
            told += _used(acc, queries)
    return told


def _used(acc: Accelerator, queries: Sequence[str]) -> Counter[str]:
    """Statements that have left files out, and those of them that went through an expression."""
    told: Counter[str] = Counter()
    for query in queries:
        metrics = acc.query(query).metrics
        pruned = metrics.rewritten and metrics.files_read < metrics.files_total
        told["asked"] += 1
        told["pruned"] += pruned
        told["by an expression"] += pruned and ", is " in str(acc.explain(query))
    return told


@pytest.mark.slow
def test_a_random_star(spark_warehouse: SparkWarehouse, tmp_path: Path) -> None:
    told = play(spark_warehouse, tmp_path / "store", 3, steps=1, asked=10)
    assert told["by an expression"] > 0, told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_random_stars(spark_warehouse: SparkWarehouse, tmp_path: Path, seed: int) -> None:
    told = play(spark_warehouse, tmp_path / "store", seed, steps=4, asked=8)
    assert told["pruned"] > 0, told
