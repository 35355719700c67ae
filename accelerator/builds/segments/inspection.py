"""What a job wrote, read back from its Parquet files: cells, joined rows and bytes per segment.

A file may hold several segments; each has its share of the file's bytes by its cells.
"""

from __future__ import annotations

from collections import Counter

from accelerator.artifacts.segments.checksums import checksum
from accelerator.artifacts.segments.records import WrittenSegment
from accelerator.engines.duckdb.engine import DuckDBEngine, parquet_scan, path_list
from accelerator.errors import BuildError
from accelerator.store import BuildJob, Store
from cubes.sql.build import SEGMENT


def inspect(store: Store, duckdb: DuckDBEngine, job: BuildJob) -> dict[int, WrittenSegment]:
    """By segment id; a segment without cells isn't in any file, and so not in the answer."""
    sizes = {u: n for u, n in store.artifacts(job).items() if u.endswith(".parquet")}
    if not sizes:
        return {}
    paths = store.fetch(sizes)
    uris = {store.local(u): u for u in sizes}
    sql = (
        f"SELECT filename, {SEGMENT} AS id, COUNT(*) AS cells, CAST(SUM(s0) AS BIGINT) AS n"
        f" FROM {parquet_scan(paths, named=True)} GROUP BY ALL"
    )
    rows = duckdb.run(sql).to_pylist()
    columns = _column_bytes(duckdb, paths)
    cells: Counter[str] = Counter()
    for row in rows:
        cells[row["filename"]] += row["cells"]
    segments = Counter(row["filename"] for row in rows)
    sums = {path: checksum(path) for path in segments}
    found = {}
    for row in rows:
        path, own = row["filename"], row["cells"]
        uri, all_ = uris[path], cells[path]
        shares = {column: n * own // all_ for column, n in columns[path].items()}
        found[row["id"]] = WrittenSegment(
            uri,
            own,
            row["n"],
            sizes[uri] * own // all_,
            segments[path],
            sizes[uri],
            shares,
            sums[path],
        )
    if len(found) != len(rows):
        raise BuildError("a segment was written to two files", hint="this is a fault of the build")
    return found


def _column_bytes(duckdb: DuckDBEngine, paths: list[str]) -> dict[str, dict[str, int]]:
    """By file and column: the bytes in the Parquet file; a list's column by its own name."""
    sql = (
        "SELECT file_name, regexp_extract(path_in_schema, '^[a-z0-9]+') AS name,"
        " CAST(SUM(total_compressed_size) AS BIGINT) AS bytes"
        f" FROM parquet_metadata({path_list(paths)}) GROUP BY ALL"
    )
    found: dict[str, dict[str, int]] = {path: {} for path in paths}
    for row in duckdb.run(sql).to_pylist():
        found[row["file_name"]][row["name"]] = row["bytes"]
    return found
