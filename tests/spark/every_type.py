"""A table with a column of every type, and the rows that tests put there."""

from __future__ import annotations

COLUMNS = (
    "a INT, b BIGINT, d DATE, c DECIMAL(10,2), t TIMESTAMP, n TIMESTAMP_NTZ, s STRING, f DOUBLE,"
    " o BOOLEAN, r STRUCT<x: INT, `y z`: STRING>, l ARRAY<INT>, e BINARY"
)
ROW = (
    "SELECT CAST(id AS INT), id, date_add(DATE '2024-02-27', CAST(id % 2 AS INT)),"
    " CAST(id / 8 AS DECIMAL(10,2)), timestamp_seconds(id * 5000),"
    " TIMESTAMP_NTZ '2024-01-01 00:00:00', concat('x', id), IF(id = 1, double('NaN'), id / 4),"
    " id % 3 = 0, IF(id = 2, NULL, named_struct('x', CAST(id AS INT), 'y z', 'q')),"
    " array(CAST(id AS INT)), X'0102' FROM range({}, {})"
)
