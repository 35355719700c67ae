"""What stands for a Spark session over a recorded lake: statements, frames, temporary views.

A frame is a recipe: a text with the recipes of the views that it names, files, rows, or columns of
another one. Its schema and its rows are asked of real Spark where no record has them, and real
Spark then gets the same recipe. What isn't built here raises: such a test needs real Spark.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.types import DataType, StructType

from tests.support.recording import errors
from tests.support.recording.records import digest

if TYPE_CHECKING:
    from tests.support.recording.engine import RecordedEngine

_CHANGES = frozenset(
    [
        "CREATE",
        "INSERT",
        "DELETE",
        "UPDATE",
        "MERGE",
        "ALTER",
        "DROP",
        "TRUNCATE",
        "CALL",
        "REPLACE",
        "REFRESH",
    ]
)
_REFUSED = frozenset(
    ["SET", "USE", "RESET", "CACHE", "UNCACHE", "ADD", "DECLARE", "EXECUTE", "BEGIN", "CLEAR"]
)
_TEMPORARY = re.compile(r"CREATE\s+(OR\s+REPLACE\s+)?(GLOBAL\s+)?TEMP", re.I)
_WORD = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*([A-Za-z]*)", re.S)


class NotRecordedError(NotImplementedError):
    """A test does with a recorded session what only real Spark can do."""


@dataclass(frozen=True)
class Recipe:
    """How a frame is made: a key, and the function that makes it of real Spark."""

    key: str
    about: str
    make: Callable[[ExitStack], DataFrame]


@dataclass(frozen=True, slots=True)
class RecordedColumn:
    """A column of a frame, cast and named."""

    name: str
    type: DataType | None = None
    alias_: str | None = None

    def cast(self, type_: DataType) -> RecordedColumn:
        return replace(self, type=type_)

    def alias(self, name: str) -> RecordedColumn:
        return replace(self, alias_=name)

    @property
    def key(self) -> str:
        return json.dumps([self.name, self.type.json() if self.type else None, self.alias_])

    def of(self, frame: DataFrame) -> Any:
        found = frame[self.name]
        found = found if self.type is None else found.cast(self.type)
        return found if self.alias_ is None else found.alias(self.alias_)


class RecordedFrame:
    """A frame whose schema and rows come from the records."""

    def __init__(self, session: RecordedSession, recipe: Recipe) -> None:
        self._session, self.recipe = session, recipe

    @property
    def schema(self) -> StructType:
        return self._session.schema(self.recipe)

    @property
    def columns(self) -> list[str]:
        return self.schema.names

    def toArrow(self) -> pa.Table:
        return self._session.answer(self.recipe)

    def collect(self) -> list[Row]:
        return rows_of(self.toArrow(), self.schema)

    def count(self) -> int:
        return self.toArrow().num_rows

    def toDF(self, *names: str) -> RecordedFrame:
        return self._over("toDF", json.dumps(names), lambda frame: frame.toDF(*names))

    def select(self, *columns: Any) -> RecordedFrame:
        key = json.dumps([c.key if isinstance(c, RecordedColumn) else c for c in columns])

        def made(frame: DataFrame) -> DataFrame:
            return frame.select(
                *(c.of(frame) if isinstance(c, RecordedColumn) else c for c in columns)
            )

        return self._over("select", key, made)

    def selectExpr(self, *items: str) -> RecordedFrame:
        return self._over("selectExpr", json.dumps(items), lambda frame: frame.selectExpr(*items))

    def createOrReplaceTempView(self, name: str) -> None:
        self._session.views[name] = self.recipe

    def __getitem__(self, name: str) -> RecordedColumn:
        return RecordedColumn(name)

    def __getattr__(self, name: str) -> Any:
        raise NotRecordedError(f"a recorded frame has no {name}: take live Spark")

    def _over(self, kind: str, key: str, change: Callable[[DataFrame], DataFrame]) -> RecordedFrame:
        inner = self.recipe
        return RecordedFrame(
            self._session,
            Recipe(
                digest(kind, inner.key, key), inner.about, lambda made: change(inner.make(made))
            ),
        )


class _Reader:
    def __init__(self, session: RecordedSession, schema: str = "") -> None:
        self._session, self._schema = session, schema

    def schema(self, ddl: str) -> _Reader:
        return _Reader(self._session, ddl)

    def parquet(self, *paths: str) -> RecordedFrame:
        ddl = self._schema
        files = sorted(_content(path) for path in paths)

        def make(_made: ExitStack) -> DataFrame:
            return self._session.live.read.schema(ddl).parquet(*paths)

        return RecordedFrame(self._session, Recipe(digest("parquet", ddl, *files), "files", make))


class _Catalog:
    def __init__(self, session: RecordedSession) -> None:
        self._session = session

    def dropTempView(self, name: str) -> bool:
        return self._session.views.pop(name, None) is not None

    def tableExists(self, name: str) -> bool:
        return self._session.table_exists(name)

    def __getattr__(self, name: str) -> Any:
        raise NotRecordedError(f"a recorded session's catalog has no {name}: take live Spark")


class _Context:
    """What the engine asks of a SparkContext around jobs."""

    defaultParallelism = 2
    pythonExec = "python3"
    _jsc = object()

    def getLocalProperty(self, _name: str) -> None: ...
    def setLocalProperty(self, _name: str, _value: object) -> None: ...
    def addJobTag(self, _tag: str) -> None: ...
    def removeJobTag(self, _tag: str) -> None: ...
    def cancelJobsWithTag(self, _tag: str) -> None: ...

    def __getattr__(self, name: str) -> Any:
        raise NotRecordedError(f"a recorded session's context has no {name}: take live Spark")


class _Conf:
    """Settings as they are; none can be set."""

    def get(self, name: str, default: str | None = None) -> str | None:
        from tests.support.recording.live import CONF

        return CONF.get(name, default)

    def __getattr__(self, name: str) -> Any:
        raise NotRecordedError(f"a recorded session's settings have no {name}: take live Spark")


@dataclass
class RecordedSession:
    """Stands for a SparkSession over the engine's lake."""

    engine: RecordedEngine
    views: dict[str, Recipe] = field(default_factory=dict)

    @property
    def live(self) -> Any:
        """Real Spark's session over the same lake."""
        return self.engine.recorded.engine.session

    @property
    def read(self) -> _Reader:
        return _Reader(self)

    @property
    def catalog(self) -> _Catalog:
        return _Catalog(self)

    @property
    def conf(self) -> _Conf:
        return _Conf()

    @property
    def sparkContext(self) -> _Context:
        return _Context()

    def sql(self, text: str) -> RecordedFrame:
        """A statement: one that changes the lake does so now, a query is analysed now."""
        word = first_word(text)
        names = self._named(text)
        shown = text
        for number, name in enumerate(names):
            shown = shown.replace(name, f"acc_view_{number}")
        keys = [self.views[name].key for name in names]
        recipes = [self.views[name] for name in names]

        def make(made: ExitStack) -> DataFrame:
            live = self.live
            for name, recipe in zip(names, recipes, strict=True):
                recipe.make(made).createOrReplaceTempView(name)
                made.callback(live.catalog.dropTempView, name)
            return live.sql(self.engine.staged_text(text, made))

        if word in _REFUSED or _TEMPORARY.match(text.lstrip()):
            raise NotRecordedError(f"recorded sessions keep no state: take live Spark: {text}")
        if word in _CHANGES:
            with ExitStack() as made:
                table = self.engine.recorded.step(shown, lambda _: make(made), *keys)
            return _Done(self, table)
        frame = RecordedFrame(self, Recipe(digest("sql", shown, *keys), shown, make))
        _ = frame.schema  # Spark analyses at once, and raises at once
        return frame

    def createDataFrame(self, rows: Any, schema: Any = None) -> RecordedFrame:
        if isinstance(rows, pa.Table):
            told = digest(rows.schema.to_string(), *_told(rows))
        else:
            told = digest(repr(rows))
        ddl = schema.json() if isinstance(schema, DataType) else str(schema)

        def make(_made: ExitStack) -> DataFrame:
            return self.live.createDataFrame(rows, schema)

        return RecordedFrame(self, Recipe(digest("rows", told, ddl), "rows", make))

    def schema(self, recipe: Recipe) -> StructType:
        def ask() -> pa.Table:
            with ExitStack() as made:
                return pa.table({"schema": [recipe.make(made).schema.json()]})

        record = self.engine.recorded.ask("schema", recipe.key, recipe.about, ask)
        table = errors.given(record)
        return StructType.fromJson(json.loads(table["schema"][0].as_py()))

    def answer(self, recipe: Recipe) -> pa.Table:
        def ask() -> pa.Table:
            with ExitStack() as made:
                frame = recipe.make(made)
                self._remember(recipe, frame)
                return frame.toArrow()

        return errors.given(self.engine.recorded.ask("answer", recipe.key, recipe.about, ask))

    def table_exists(self, name: str) -> bool:
        parts = name.split(".")
        return any((row[0], row[1]) == (".".join(parts[1:-1]), parts[-1]) for row in self._tables())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotRecordedError(f"a recorded session has no {name}: take live Spark")

    def _tables(self) -> list[tuple[str, str, str]]:
        return self.engine.recorded._now()

    def _named(self, text: str) -> list[str]:
        found = [(text.index(name), name) for name in self.views if name in text]
        return [name for _, name in sorted(found)]

    def _remember(self, recipe: Recipe, frame: DataFrame) -> None:
        """Real Spark is here anyway: the schema is recorded as well."""
        told = pa.table({"schema": [frame.schema.json()]})
        self.engine.recorded.ask("schema", recipe.key, recipe.about, lambda: told)


class _Done(RecordedFrame):
    """What a statement that changes the lake gave."""

    def __init__(self, session: RecordedSession, table: pa.Table | None) -> None:
        super().__init__(session, Recipe("", "", _never))
        self._table = pa.table({}) if table is None else table

    def toArrow(self) -> pa.Table:
        return self._table

    def collect(self) -> list[Row]:
        names = self._table.column_names
        return [Row(*names)(*row.values()) for row in self._table.to_pylist()]


def _never(_made: ExitStack) -> DataFrame:
    raise NotRecordedError("this statement has run already")


def first_word(text: str) -> str:
    """The statement's first word, past comments and parentheses."""
    found = _WORD.match(text)
    return found[1].upper() if found else ""


def rows_of(table: pa.Table, schema: StructType) -> list[Row]:
    """The rows as `collect` gives them."""
    return ArrowTableToRowsConversion.convert(table, schema)


def _told(rows: pa.Table) -> list[str]:
    """The rows, in an order of their own; as they stand where Python has no such day."""
    try:
        return sorted(map(repr, rows.to_pylist()))
    except OverflowError:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows.combine_chunks())
        return [sink.getvalue().to_pybytes().hex()]


def _content(path: str) -> str:
    return hashlib.sha256(Path(path.removeprefix("file://")).read_bytes()).hexdigest()


def names_of(items: Sequence[str]) -> str:
    """Several names as one text."""
    return ", ".join(items)
