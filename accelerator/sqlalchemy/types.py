"""Spark's types as SQLAlchemy's, and the way back.

Promise: a type that SQLAlchemy has no word for keeps Spark's text, and is given as it comes.
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import types as t
from sqlalchemy.exc import CompileError
from sqlalchemy.sql.compiler import GenericTypeCompiler
from sqlalchemy.sql.sqltypes import _AbstractInterval
from sqlalchemy.sql.type_api import NativeForEmulated

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_PLAIN: dict[str, type[t.TypeEngine[Any]]] = {
    "boolean": t.Boolean,
    "tinyint": t.SmallInteger,
    "smallint": t.SmallInteger,
    "int": t.Integer,
    "bigint": t.BigInteger,
    "float": t.REAL,
    "double": t.Double,
    "string": t.String,
    "binary": t.LargeBinary,
    "date": t.Date,
    "timestamp_ntz": t.DateTime,
}


class SparkInterval(NativeForEmulated, _AbstractInterval):
    """An interval, whose values come as they are: SQLAlchemy's own are moments."""

    __visit_name__ = "INTERVAL"
    native = True

    @classmethod
    def adapt_emulated_to_native(cls, *_: Any, **__: Any) -> SparkInterval:
        """Of SQLAlchemy's `Interval`."""
        return cls()


class SparkType(t.UserDefinedType[Any]):
    """A type by Spark's text of it: struct, array, map, interval."""

    cache_ok = True

    def __init__(self, text: str) -> None:
        self.text = text

    def get_col_spec(self, **_: Any) -> str:
        """As in SQL."""
        return self.text


def sqlalchemy_type(text: str) -> t.TypeEngine[Any]:
    """That of Spark's text."""
    if text in _PLAIN:
        return _PLAIN[text]()
    if text == "timestamp":
        return t.DateTime(timezone=True)
    decimal = _DECIMAL.fullmatch(text)
    if decimal:
        return t.Numeric(int(decimal[1]), int(decimal[2]))
    return SparkType(text)


class SparkTypes(GenericTypeCompiler):
    """SQLAlchemy's types in Spark's words, as CAST takes them."""

    def visit_CHAR(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        """Texts have no length here."""
        return "STRING"

    visit_NCHAR = visit_VARCHAR = visit_NVARCHAR = visit_TEXT = visit_CHAR
    visit_CLOB = visit_NCLOB = visit_CHAR

    def visit_INTEGER(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        return "INT"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        """As the standard has it: up to 24 binary digits are a small one."""
        small = type_.precision is not None and type_.precision <= 24
        return "FLOAT" if small else "DOUBLE"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        return "FLOAT"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        return "DOUBLE"

    visit_DOUBLE_PRECISION = visit_DOUBLE

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        """Without digits as PySpark's `lit`: Spark's own default would cut all behind the point."""
        if type_.precision is None:
            return "DECIMAL(38, 18)"
        return f"DECIMAL({int(type_.precision)}, {int(type_.scale or 0)})"

    visit_DECIMAL = visit_NUMERIC

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        return "TIMESTAMP" if type_.timezone else "TIMESTAMP_NTZ"

    visit_DATETIME = visit_TIMESTAMP

    def visit_BLOB(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        return "BINARY"

    visit_BINARY = visit_VARBINARY = visit_BLOB

    def visit_TIME(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        """CompileError: there is no such type."""
        raise CompileError(f"Spark has no type {type(type_).__name__}")

    visit_JSON = visit_ARRAY = visit_UUID = visit_TIME
