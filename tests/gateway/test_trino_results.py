"""Answers as bytes, and types as their columns tell them, read by Trino's own Python client."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from accelerator.errors import UnrepresentableError
from accelerator.gateway.trino.json.encode import encode
from accelerator.gateway.trino.response import StatementStats, document
from accelerator.gateway.trino.types import columns, trino_type

_INTS = ("totalSplits", "queuedSplits", "runningSplits", "completedSplits", "nodes")


def _long(value):
    return {"kind": "LONG", "value": value}


def _of(raw, *arguments):
    return {"rawType": raw, "arguments": list(arguments)}


_STATES = ["QUEUED", "PLANNING", "RUNNING", "FINISHING", "FINISHED", "FAILED"]
_VARCHAR = _of("varchar", _long(2147483647))


@pytest.mark.parametrize(
    ("type_", "text", "signature"),
    [
        (pa.int32(), "integer", _of("integer")),
        (pa.int8(), "tinyint", _of("tinyint")),
        (pa.float32(), "real", _of("real")),
        (pa.string(), "varchar", _VARCHAR),
        (pa.binary(), "varbinary", _of("varbinary")),
        (pa.decimal128(18, 2), "decimal(18, 2)", _of("decimal", _long(18), _long(2))),
        (pa.timestamp("us"), "timestamp(6)", _of("timestamp", _long(6))),
        (
            pa.timestamp("us", "UTC"),
            "timestamp(6) with time zone",
            _of("timestamp with time zone", _long(6)),
        ),
        (pa.time64("us"), "time(6)", _of("time", _long(6))),
        (pa.duration("us"), "interval day to second", _of("interval day to second")),
        (pa.null(), "unknown", _of("unknown")),
        (pa.uuid(), "uuid", _of("uuid")),
        (pa.dictionary(pa.int32(), pa.string()), "varchar", _VARCHAR),
        (
            pa.list_(pa.string()),
            "array(varchar)",
            _of("array", {"kind": "TYPE", "value": _VARCHAR}),
        ),
        (
            pa.map_(pa.string(), pa.int64()),
            "map(varchar, bigint)",
            _of(
                "map",
                {"kind": "TYPE", "value": _VARCHAR},
                {"kind": "TYPE", "value": _of("bigint")},
            ),
        ),
        (
            pa.struct([('a"b', pa.bool_())]),
            'row("a""b" boolean)',
            _of(
                "row",
                {
                    "kind": "NAMED_TYPE",
                    "value": {"fieldName": {"name": 'a"b'}, "typeSignature": _of("boolean")},
                },
            ),
        ),
    ],
)
def test_types(type_, text, signature):
    found = trino_type(pa.field("x", type_))
    assert (found.text, found.signature) == (text, signature)


def test_types_of_clients_without_precisions():
    found = trino_type(pa.list_(pa.timestamp("us", "UTC")), parametric_datetime=False)
    assert found.text == "array(timestamp with time zone)"
    assert found.signature["arguments"][0]["value"] == _of("timestamp with time zone")
    assert trino_type(pa.time64("us"), False).text == "time"


@pytest.mark.parametrize(
    "type_", [pa.uint8(), pa.month_day_nano_interval(), pa.struct([]), pa.decimal256(50, 2)]
)
def test_types_that_clients_do_not_have(type_):
    with pytest.raises(UnrepresentableError, match="the column odd: "):
        columns(pa.schema([("odd", type_)]))


def test_names_take_the_place_of_the_schemas():
    found = columns(pa.schema([("a", pa.int8()), ("b", pa.int8())]), ["x", "x"])
    assert [one["name"] for one in found] == ["x", "x"]
    with pytest.raises(ValueError):
        columns(pa.schema([("a", pa.int8())]), [])


def test_rows_go_in_as_they_are():
    table = pa.table({"a": [1, 2], "s": ['"', None]})
    data = encode(table)
    found = document(
        "q1",
        "http://h/ui",
        stats=StatementStats(state="RUNNING", rows=2, progress=40.0),
        next_uri="http://h/2",
        columns=columns(table.schema),
        data=data,
    )
    assert b'"data":' + data in found
    read = json.loads(found)
    assert read["data"] == [[1, '"'], [2, None]]
    assert read["nextUri"] == "http://h/2"
    assert read["warnings"] == []
    assert read["stats"]["progressPercentage"] == 40.0
    assert "error" not in read
    with pytest.raises(ValueError):
        document("q1", "u", stats=StatementStats(state="RUNNING"), data=data)


@pytest.mark.parametrize("state", _STATES)
def test_stats_are_whole(state):
    found = StatementStats(state=state, splits=10, splits_done=4).as_dict()
    parts = found["queuedSplits"] + found["runningSplits"] + found["completedSplits"]
    assert parts == found["totalSplits"]
    assert all(isinstance(found[key], int) for key in _INTS)
    assert found["queued"] == (state == "QUEUED")


def test_an_end_without_rows():
    read = json.loads(
        document("q", "u", stats=StatementStats(state="FINISHED"), update_type="USE", data=b"[]")
    )
    assert read.keys() == {"id", "infoUri", "stats", "updateType", "warnings"}
    assert read["stats"]["progressPercentage"] == 100.0
