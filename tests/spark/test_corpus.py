"""Statements of Spark's own grammar: the session gives what Spark gives.

`corpus/` holds them by kind. A line `%%%% name` begins a chapter, in which each statement may need
those before it; a line `%% mark` begins a statement. Two sessions run each of them, one through
`acc.sql`, one plainly, and `acc.query` those that aren't left to Spark: names, types and rows are
equal, or the error's class and condition. So is what a chapter leaves in the session, and a table
before it's dropped. `mine` stands for a namespace that either session has for itself,
TEMPORARY_FOLDER for a folder.

Marks: `ordered` rows are a list, else a bag; `ties` any rows of those without LIMIT will do, and
`ties N` wants column N as a list; `loose` only names, types and the number of rows are compared;
`raises C` both raise that condition (or class, where it has none); `own` lists functions, of which
ours are left out; `clash` a statement of our own, where Spark raises.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, udf, udtf

import accelerator
from accelerator.errors import AcceleratorError
from accelerator.planning.plans import PlainPlan
from accelerator.query.statements.nodes import Query
from accelerator.query.statements.parse import parse_statement
from accelerator.services.verification.compare import differ, differ_sorted
from accelerator.session.session import Accelerator
from rewrite.text.first_look import first_word
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True

_FILES = sorted((Path(__file__).parent / "corpus").glob("*.sql"))
_REWRITTEN = 0.25
"""So much of all queries at least is to be answered by the accelerator."""
_MINE = re.compile(r"\bmine(?=\b|_)")
_OWN_FUNCTION = r"\b(acc_\w+|has_token|match)$"
_DROPPED = re.compile(r"DROP TABLE (?:IF EXISTS )?([\w.]+)")
_SALES = (
    "SELECT id, date_add(DATE '2024-01-01', CAST(id % 90 AS INT)) AS day,"
    " timestamp_seconds(1704067200 + id * 40000) AS at,"
    " TIMESTAMP_NTZ '2024-01-01 00:00:00' + make_dt_interval(CAST(id % 90 AS INT), 3) AS ntz,"
    " element_at(array('north', 'south', 'east', 'west', NULL), CAST(id % 5 AS INT) + 1) AS region,"
    " CAST(id % 7 AS INT) AS shop,"
    " element_at(array('pen', 'ink', 'pad', 'Pen'), CAST(id * 3 % 4 AS INT) + 1) AS item,"
    " nullif(CAST(id * 7 % 11 AS INT), 10) AS qty, CAST(id % 40 / 4 AS DECIMAL(9, 2)) AS price,"
    " CAST(id % 16 AS DOUBLE) / 8 AS weight, nullif(id % 3, 2) = 0 AS ok,"
    " if(id % 6 = 0, NULL, array(concat('t', id % 2), 'u')) AS tags,"
    " named_struct('a', CAST(id % 4 AS INT), 'b', concat('b', id % 2)) AS info,"
    " map('x', CAST(id AS INT)) AS attrs, concat('{{\"k\": \"k', id % 3, '\"}}') AS js"
    " FROM range({0}, {1}, 1, 1)"
)
_CUBES = {
    "corpus_sales": "SELECT region, shop, item, day, ok, count(*), sum(qty), count(qty),"
    " sum(price), min(price), max(price), min(day), max(day), max(qty), avg(weight), sum(weight)"
    " FROM lake.corpus.sales GROUP BY region, shop, item, day, ok",
    "corpus_cities": "SELECT s.city, f.region, count(*), sum(f.qty) FROM lake.corpus.sales f"
    " JOIN lake.corpus.shops s ON f.shop = s.shop GROUP BY s.city, f.region",
    "corpus_months": "SELECT date_trunc('MONTH', at), count(*), sum(qty) FROM lake.corpus.sales"
    " GROUP BY 1",
}


@dataclass(frozen=True)
class Statement:
    """One of the corpus, with its mark and what stands behind that."""

    file: str
    chapter: str
    text: str
    mark: str
    argument: str

    @property
    def is_query(self) -> bool:
        """Whether it may be asked once more."""
        query = (
            isinstance(parse_statement(self.text), Query) or first_word(self.text).text == "FROM"
        )
        return query and re.search(r"\b(INSERT|DELETE|MERGE)\b", self.text) is None


@dataclass(frozen=True)
class Outcome:
    """Rows with their Spark types, or the error that came instead."""

    rows: pa.Table | None
    types: tuple[str, ...] = ()
    error: str = ""


def _corpus() -> list[Statement]:
    found = []
    for file in _FILES:
        chapters = re.split(r"^%%%% (.+)\n", file.read_text(), flags=re.MULTILINE)
        assert not chapters[0].strip(), f"{file.name} begins with a chapter"
        for name, text in zip(chapters[1::2], chapters[2::2], strict=True):
            parts = re.split(r"^%%(?: (\w+)(?: (\S+))?)?\n", text, flags=re.MULTILINE)
            for mark, argument, sql in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
                sql = sql.removesuffix("\n")
                found.append(Statement(file.stem, name, sql, mark or "", argument or ""))
    return found


@pytest.fixture(scope="module")
def tables(spark_warehouse: SparkWarehouse) -> Iterator[None]:
    sql = spark_warehouse.sql
    for name in ("corpus", "mine_a", "mine_b"):
        sql(f"CREATE NAMESPACE lake.{name}")
    sql(
        "CREATE TABLE lake.corpus.sales USING iceberg PARTITIONED BY (region) TBLPROPERTIES"
        f" ('write.distribution-mode'='none') AS {_SALES.format(0, 120)}"
    )
    sql(
        "CREATE TABLE lake.corpus.shops USING iceberg AS SELECT CAST(id AS INT) AS shop,"
        " concat('shop ', id) AS name, element_at(array('Oslo', 'Rome', NULL), CAST(id % 3 AS INT)"
        " + 1) AS city, id * 6.5D AS area FROM range(0, 9, 1, 1)"
    )
    sql("ALTER TABLE lake.corpus.sales CREATE TAG before")
    sql("ALTER TABLE lake.corpus.sales CREATE BRANCH side")
    sql(f"INSERT INTO lake.corpus.sales {_SALES.format(120, 220)}")
    yield
    for name in ("corpus.sales", "corpus.shops"):
        sql(f"DROP TABLE lake.{name}")
    for name in ("corpus", "mine_a", "mine_b"):
        sql(f"DROP NAMESPACE lake.{name}")


@pytest.fixture(scope="module")
def ours(
    tables: None, spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Accelerator]:
    store = str(tmp_path_factory.mktemp("corpus_store"))
    with accelerator.attach(spark_warehouse.spark.newSession(), store=store) as session:
        _register(session.spark)
        for name, select in _CUBES.items():
            session.query(f"CREATE CUBE {name} AS {select}")
        session.query("CREATE INDEX corpus_item ON lake.corpus.sales USING BITMAP (item)")
        yield session


@pytest.fixture(scope="module")
def plain(tables: None, spark_warehouse: SparkWarehouse) -> SparkSession:
    session = spark_warehouse.spark.newSession()
    _register(session)
    return session


class Pair:
    """Both sessions, and what they differ in."""

    def __init__(self, ours: Accelerator, plain: SparkSession, folder: Path) -> None:
        self.ours, self.plain, self.folder = ours, plain, f"file:{folder}"
        self.differences: list[str] = []
        self.queries = self.rewritten = 0

    def begin(self) -> None:
        """Either session is as new."""
        for session in (self.ours.spark, self.plain):
            session.sql("RESET").collect()
            session.sql("USE lake.corpus").collect()

    def run(self, one: Statement) -> None:
        """The statement by both, compared."""
        text = one.text.replace("TEMPORARY_FOLDER", self.folder)
        mine, theirs = _MINE.sub("mine_a", text), _MINE.sub("mine_b", text)
        dropped = _DROPPED.match(one.text)
        if dropped is not None:
            self._compare_tables(one, dropped[1])
        failed = dict(self.ours.fallbacks)
        answers = {"sql": _outcome(lambda: _of_frame(self.ours.sql(mine)))}
        plain = _outcome(lambda: _of_frame(self.plain.sql(theirs)))
        if one.is_query and self._is_answered(mine):
            answers["query"] = _outcome(lambda: Outcome(self.ours.query(mine).arrow()))
        found = _unlike_its_mark(one, plain)
        for way, answer in answers.items():
            found += [f"{way}: {d}" for d in self._differ(one, theirs, answer, plain)]
        if plain.rows is not None and self.ours.fallbacks != failed:
            found.append(f"fallbacks grew from {failed} to {self.ours.fallbacks}")
        self._tell(one, found)

    def end(self, last: Statement) -> None:
        """What is left of a chapter in both."""
        states = []
        for session, name in ((self.ours.spark, "mine_a"), (self.plain, "mine_b")):
            settings = sorted(map(tuple, session.sql("SET").collect()))
            # Not by the catalog's methods, each of whose answers Spark compiles code for.
            tables = [t.tableName for t in session.sql(f"SHOW TABLES IN lake.{name}").collect()]
            views = [v.viewName for v in session.sql("SHOW VIEWS").collect() if v.isTemporary]
            at = session.catalog.currentCatalog(), session.catalog.currentDatabase()
            states.append(repr((settings, tables, views, at)).replace(name, "mine"))
        if states[0] != states[1]:
            self._tell(last, [f"left behind: {states[0]} for {states[1]}"])

    def _is_answered(self, sql: str) -> bool:
        """Whether `query` does anything that `sql` doesn't."""
        answered = not isinstance(self.ours.plan(sql)[0], PlainPlan)
        self.queries += 1
        self.rewritten += answered
        return answered

    def _differ(self, one: Statement, sql: str, mine: Outcome, plain: Outcome) -> list[str]:
        if one.mark == "clash":
            return [f"we raise {mine.error}"] if mine.rows is None else []
        if mine.rows is None or plain.rows is None:
            same = mine.error == plain.error
            return [] if same else [f"{mine.error or 'rows'} for {plain.error or 'rows'}"]
        if mine.types and mine.types != plain.types:
            return [f"types {mine.types} for {plain.types}"]
        if one.mark in ("loose", "ties"):
            found = differ(mine.rows, plain.rows, compared=())
            if one.mark == "ties" and not found:
                found = self._not_of_all(sql, mine.rows, one.argument, plain.rows)
            return found
        rows = mine.rows if one.mark != "own" else _without_own(mine.rows)
        found = differ(rows, plain.rows)
        if not found and one.mark == "ordered":
            found = differ_sorted(mine.rows, plain.rows, keys=plain.rows.num_columns)
        return found

    def _not_of_all(self, sql: str, mine: pa.Table, key: str, plain: pa.Table) -> list[str]:
        whole = [
            repr(row) for row in self.plain.sql(sql[: sql.rindex("LIMIT")]).toArrow().to_pylist()
        ]
        found = []
        for row in map(repr, mine.to_pylist()):
            if row not in whole:
                found.append(f"row {row} of nowhere")
            else:
                whole.remove(row)
        if key and mine.column(int(key)).to_pylist() != plain.column(int(key)).to_pylist():
            found.append(f"column {key} in another order")
        return found

    def _compare_tables(self, one: Statement, table: str) -> None:
        """Columns, rows and properties of a table that is about to go."""
        for text in (f"SELECT * FROM {table}", f"DESCRIBE {table}", f"SHOW TBLPROPERTIES {table}"):
            mine, theirs = _MINE.sub("mine_a", text), _MINE.sub("mine_b", text)
            ours = _outcome(partial(_of_text, self.ours.spark, mine))
            plain = _outcome(partial(_of_text, self.plain, theirs))
            if ours.rows is None or plain.rows is None:
                found = [] if ours.error == plain.error else [f"{ours.error} for {plain.error}"]
            else:
                found = differ(_lasting(ours.rows), _lasting(plain.rows))
            self._tell(one, [f"before: {text}: {d}" for d in found])

    def _tell(self, one: Statement, found: list[str]) -> None:
        where = f"{one.file}, {one.chapter}: {one.text}"
        self.differences += [f"{where}\n    {difference}" for difference in found]


def _outcome(run: Callable[[], Outcome]) -> Outcome:
    try:
        found = run()
    except PySparkException as error:
        return Outcome(None, error=f"{type(error).__name__} {error.getCondition()}")
    except Py4JJavaError as error:
        return Outcome(None, error=_of_java(error.java_exception))
    except (Py4JError, AcceleratorError, pa.ArrowException) as error:
        return Outcome(None, error=type(error).__name__)
    assert found.rows is not None
    return Outcome(_neutral(found.rows), found.types)


def _of_java(error) -> str:
    """The class and condition of what pyspark hands on as it is."""
    context = SparkContext._active_spark_context
    assert context is not None
    told = is_instance_of(context._gateway, error, "org.apache.spark.SparkThrowable")
    return f"{error.getClass().getName()} {error.getCondition() if told else None}"


def _of_text(session: SparkSession, sql: str) -> Outcome:
    return _of_frame(session.sql(sql))


def _of_frame(frame) -> Outcome:
    types = tuple(field.dataType.json() for field in frame.schema)
    return Outcome(frame.toArrow(), types)


def _neutral(rows: pa.Table) -> pa.Table:
    """Texts without what tells the two namespaces apart."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_string(field.type):
            text = pc.replace_substring_regex(rows.column(place), r"\bmine_[ab]", "mine")
            rows = rows.set_column(place, field, text)
    return rows


def _without_own(rows: pa.Table) -> pa.Table:
    """A list of functions without those of our own."""
    return rows.filter(pc.invert(pc.match_substring_regex(rows.column(0), _OWN_FUNCTION)))


def _lasting(rows: pa.Table) -> pa.Table:
    """The properties of a table without the numbers of its states."""
    if rows.column_names != ["key", "value"]:
        return rows
    return rows.filter(pc.invert(pc.match_substring(rows.column("key"), "snapshot")))


def _unlike_its_mark(one: Statement, plain: Outcome) -> list[str]:
    """A statement of the corpus that isn't what it's meant to be."""
    if one.mark == "raises":
        said = plain.error.split()
        return [] if one.argument in said else [f"plain Spark: {plain.error or 'rows'}"]
    if (plain.rows is None) != (one.mark == "clash"):
        return [f"plain Spark: {plain.error or 'rows'}"]
    return []


def _register(session: SparkSession) -> None:
    """Functions in Python: of values, of groups, of tables."""

    class Words:
        def eval(self, text: str):
            for word in (text or "").split():
                yield (word, len(word))

    def biggest(values: pd.Series) -> float:
        return float(values.max())

    biggest.__annotations__ = {"values": pd.Series, "return": float}
    session.udf.register("plus_one", udf(lambda x: None if x is None else x + 1, "int"))
    session.udf.register("biggest", pandas_udf(biggest, "double"))
    session.udtf.register("words", udtf(Words, returnType="word STRING, length INT"))


def _chapters() -> list[list[Statement]]:
    grouped = groupby(_corpus(), lambda one: (one.file, one.chapter))
    return [list(statements) for _, statements in grouped]


def _tenth(chapters: list[list[Statement]]) -> list[list[Statement]]:
    """Of statements that stand alone each tenth, of a file's other chapters each tenth."""
    found, seen = [], Counter[str]()
    for chapter in chapters:
        file = chapter[0].file
        if all(one.is_query or one.mark == "raises" for one in chapter):
            found.append(chapter[::10])
        else:
            if seen[file] % 10 == 0:
                found.append(chapter)
            seen[file] += 1
    return found


def _check(chapters: list[list[Statement]], pair: Pair) -> None:
    for chapter in chapters:
        pair.begin()
        for one in chapter:
            pair.run(one)
        pair.end(chapter[-1])
    shown = "\n".join(pair.differences)
    assert not pair.differences, f"{len(pair.differences)} differences\n{shown}"
    assert pair.rewritten >= pair.queries * _REWRITTEN, (pair.rewritten, pair.queries)


@pytest.fixture
def pair(ours: Accelerator, plain: SparkSession, tmp_path: Path) -> Pair:
    return Pair(ours, plain, tmp_path)


@pytest.mark.long
def test_a_tenth_of_the_corpus(pair: Pair) -> None:
    _check(_tenth(_chapters()), pair)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_whole_corpus(pair: Pair) -> None:
    _check(_chapters(), pair)
