"""Every kind of request by users who may not read, and a search for leaks in the answers.

`RIGHTS` are users who may do something else than read, `DOORS` are requests about a table. A cell
is one door for one right. It leaks if an answer contains a text that only forbidden things
contain, or if it differs for a table that exists and a name that nothing has.
"""

from __future__ import annotations

import http.client
import json
import re
import sqlite3
import time
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, NestedField, StringType

import accelerator

Action = Literal["read", "write", "change"]
CATALOG, SCHEMA = "lake", "d"
OPEN, VAULT, VIEW, PUBLISHED, NOTHING = "open", "vault", "overlook", "showcase", "zzqxj"
"""A table that all may read, those that nobody here may, and a name that nothing has."""
_HIDDEN_CATALOG = "catalogmark"

SECRETS = {
    "smallest value": "aamark",
    "greatest value": "zzmark",
    "number": "760913",
    "column": "columnmark",
    "comment": "commentmark",
    "property": "propertymark",
    "password": "passwordmark",
    "password of an address": "addressmark",
    "secret of a summary": "summarymark",
    "constant of a view": "constantmark",
    "relate column": "relatemark",
    "constraint": "constraintmark",
    "cube": "cubemark",
    "index": "indexmark",
    "constant of a cube": "filtermark",
    "catalog": _HIDDEN_CATALOG,
    "statement of another user": "statementmark",
}
"""Texts that stand in forbidden things alone, by what they are."""


@dataclass(frozen=True, slots=True)
class Right:
    """A user, the forbidden table that they ask about, and what they may do with it."""

    user: str
    target: str = VAULT
    actions: tuple[Action, ...] = ()
    deny: tuple[str, ...] = ()
    read: tuple[str, ...] = ()

    def is_asked(self, door: Door) -> bool:
        """Returns whether the door is closed to them: they may do no such thing to the target."""
        return not door.has_target or door.uses not in self.actions

    @property
    def sees(self) -> bool:
        """Returns whether listings show the target's name."""
        return bool(self.actions) or self.target in self.read


RIGHTS: Mapping[str, Right] = {
    "write only": Right("writer", actions=("write",)),
    "change only": Right("changer", actions=("change",)),
    "deny read": Right("denied", deny=(VAULT, NOTHING), read=("*",)),
    "published": Right("publisher", PUBLISHED, read=(PUBLISHED, NOTHING)),
    "view over forbidden": Right("viewer", VIEW, read=(VIEW, NOTHING)),
    "no rule": Right("nobody"),
}
OWNER = "owner"


def policy() -> str:
    """The policy's text, with rules by users' names."""
    rules = [
        _rule("allow", ("read", "write", "change"), OWNER, ("*",)),
        f'[[rule]]\nallow = ["metrics"]\nusers = ["{OWNER}"]\n',
        f'[[rule]]\nallow = ["read"]\nusers = ["{OWNER}"]\ntables = ["{_HIDDEN_CATALOG}.*.*"]\n',
    ]
    for right in RIGHTS.values():
        rules.append(_rule("allow", ("read", "change"), right.user, (OPEN,)))
        rules.append(
            f'[[rule]]\nallow = ["manage"]\nusers = ["{right.user}"]\n'
            'cubes = ["*"]\nindexes = ["*"]\n'
        )
        if right.read:
            rules.append(_rule("allow", ("read",), right.user, right.read))
        if right.actions:
            rules.append(_rule("allow", right.actions, right.user, (right.target, NOTHING)))
        if right.deny:
            rules.append(_rule("deny", ("read",), right.user, right.deny))
    return "\n".join(rules)


def _rule(effect: str, actions: Sequence[str], user: str, tables: Sequence[str]) -> str:
    names = json.dumps([f"{CATALOG}.{SCHEMA}.{one}" for one in tables])
    what = json.dumps(actions)
    return f'[[rule]]\n{effect} = {what}\nusers = ["{user}"]\ntables = {names}\n'


# The warehouse


def made_warehouse(folder: Path) -> Path:
    """A warehouse of the names above, with cubes, indexes and keys over what is forbidden."""
    folder.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog(
        CATALOG,
        uri=f"sqlite:///{folder}/catalog.db",
        warehouse=folder.as_uri(),
        **{"jdbc.schema-version": "V1"},
    )
    catalog.create_namespace(SCHEMA)
    _make_vault(catalog)
    rows = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "v": ["x", "y", None]})
    table = catalog.create_table(
        f"{SCHEMA}.{OPEN}",
        rows.schema,
        properties={
            "my.password": SECRETS["password"],
            "my.address": f"https://me:{SECRETS['password of an address']}@example.com/a",
        },
    )
    table.append(rows, snapshot_properties={"my-token": SECRETS["secret of a summary"]})
    shown = pa.table({SECRETS["column"]: [SECRETS["smallest value"]], "n": [760913]})
    catalog.create_table(
        f"{SCHEMA}.{PUBLISHED}",
        shown.schema,
        properties={
            "accelerator.published.cube": SECRETS["cube"],
            "comment": SECRETS["comment"],
        },
    ).append(shown)
    catalog.engine.dispose()
    _make_view(folder)
    with accelerator.open(str(folder)) as session:
        for sql in _definitions():
            session.query(sql)
        registry = session.services.store.registry()
        id = registry.cubes[SECRETS["cube"]].id
        published = f"{CATALOG}.{SCHEMA}.{PUBLISHED}"
        session.services.store.change_cube(SECRETS["cube"], id, published=published)
    return folder


def _make_vault(catalog: SqlCatalog) -> None:
    column = SECRETS["column"]
    schema = Schema(
        NestedField(1, "k", IntegerType(), doc=SECRETS["comment"]),
        NestedField(2, "v", StringType()),
        NestedField(3, column, StringType()),
    )
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "v"))
    properties = {
        "comment": SECRETS["comment"],
        "plain": SECRETS["property"],
        "my.password": SECRETS["password"],
    }
    table = catalog.create_table(
        f"{SCHEMA}.{VAULT}", schema, partition_spec=spec, properties=properties
    )
    values = [SECRETS["smallest value"], SECRETS["greatest value"], None]
    rows = pa.table(
        {"k": pa.array([1, 2, 760913], pa.int32()), "v": values, column: values},
    )
    table.append(rows, snapshot_properties={"my-token": SECRETS["secret of a summary"]})


def _definitions() -> Iterator[str]:
    at, column = f"{CATALOG}.{SCHEMA}", SECRETS["column"]
    yield f"CREATE CUBE plain AS SELECT v, count(*) AS n FROM {at}.{OPEN} GROUP BY v"
    yield (
        f"CREATE CUBE {SECRETS['cube']} AS SELECT b.{column}, a.v, count(*) AS n"
        f" FROM {at}.{OPEN} AS a JOIN {at}.{VAULT} AS b ON a.k = b.k"
        f" WHERE b.{column} <> '{SECRETS['constant of a cube']}' GROUP BY b.{column}, a.v"
    )
    yield f"CREATE CUBE known AS SELECT {column}, count(*) AS n FROM {at}.{VAULT} GROUP BY {column}"
    yield f"CREATE INDEX known ON {at}.{VAULT} USING BLOOM (v)"
    yield f"CREATE CUBE gone AS SELECT {column}, count(*) AS n FROM {at}.{VAULT} GROUP BY {column}"
    yield "DROP CUBE gone"
    yield f"ALTER TABLE {at}.{VAULT} ADD CONSTRAINT u UNIQUE (k) NOT ENFORCED RELY"
    yield (
        f"ALTER TABLE {at}.{OPEN} ADD CONSTRAINT {SECRETS['constraint']} FOREIGN KEY (k)"
        f" REFERENCES {at}.{VAULT} (k) NOT ENFORCED RELY"
    )
    yield (
        f"ALTER TABLE {at}.{OPEN} ADD RELATE COLUMN FROM {at}.{VAULT}.{column}"
        f" ON {at}.{OPEN}.k = {at}.{VAULT}.k AS {SECRETS['relate column']}"
    )
    yield f"CREATE INDEX {SECRETS['index']} ON {at}.{VAULT} USING BLOOM (k)"


def _make_view(folder: Path) -> None:
    sql = f"SELECT {SECRETS['column']}, k FROM {VAULT} WHERE v <> '{SECRETS['constant of a view']}'"
    fields = [
        {"id": 1, "name": SECRETS["column"], "required": False, "type": "string"},
        {"id": 2, "name": "k", "required": False, "type": "int"},
    ]
    version = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "default-namespace": [SCHEMA],
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
    }
    content = {
        "view-uuid": str(uuid.uuid4()),
        "format-version": 1,
        "location": f"file://{folder}/{VIEW}",
        "current-version-id": 1,
        "versions": [version],
        "version-log": [{"version-id": 1, "timestamp-ms": 1}],
        "schemas": [{"schema-id": 0, "type": "struct", "fields": fields}],
    }
    metadata = folder / f"{VIEW}.metadata.json"
    metadata.write_text(json.dumps(content))
    with sqlite3.connect(folder / "catalog.db") as catalog:
        catalog.execute(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
            " metadata_location, iceberg_type) VALUES (?, ?, ?, ?, 'VIEW')",
            (CATALOG, SCHEMA, VIEW, metadata.as_uri()),
        )
    catalog.close()


def further_catalog(folder: Path) -> dict[str, dict[str, str]]:
    """The setting `catalogs`: one that no user of `RIGHTS` sees."""
    root = folder / "further"
    root.mkdir(exist_ok=True)
    made = SqlCatalog(_HIDDEN_CATALOG, uri=f"sqlite:///{root}/catalog.db", warehouse=root.as_uri())
    made.create_namespace(SCHEMA)
    made.engine.dispose()
    return {
        _HIDDEN_CATALOG: {
            "type": "sql",
            "uri": f"sqlite:///{root}/catalog.db",
            "warehouse": root.as_uri(),
        }
    }


# The requests


@dataclass(frozen=True, slots=True)
class Door:
    """A request about a table: SQL, or a path of the API or the page.

    `uses` is the action that it performs, for which who may do that isn't asked. `is_name`: it
    tells names alone, which who may write or change a table sees.
    """

    text: str
    uses: Action = "read"
    is_name: bool = False
    method: str = "SQL"
    body: str = ""

    @property
    def has_target(self) -> bool:
        """Returns whether it names the forbidden table."""
        return "{t}" in self.text or "{t}" in self.body


def _queries() -> Iterator[tuple[str, Door]]:
    t = f"{CATALOG}.{SCHEMA}.{{t}}"
    for name, text in {
        "select": f"SELECT * FROM {t}",
        "count": f"SELECT count(*) FROM {t}",
        "minimum": f"SELECT min(k), max(k) FROM {t}",
        "column that isn't there": f"SELECT nope FROM {t}",
        "subquery": f"SELECT (SELECT max(k) FROM {t}) FROM {CATALOG}.{SCHEMA}.{OPEN}",
        "join": f"SELECT * FROM {CATALOG}.{SCHEMA}.{OPEN} JOIN {t} ON true",
        "union": f"SELECT k FROM {CATALOG}.{SCHEMA}.{OPEN} UNION ALL SELECT k FROM {t}",
        "with": f"WITH w AS (SELECT * FROM {t}) SELECT count(*) FROM w",
        "exists": f"SELECT 1 WHERE EXISTS (SELECT 1 FROM {t})",
        "table": f"TABLE {t}",
        "version": f"SELECT * FROM {t} FOR VERSION AS OF 1",
        "timestamp": f"SELECT * FROM {t} FOR TIMESTAMP AS OF TIMESTAMP '2026-01-01 00:00:00 UTC'",
        "files": f'SELECT * FROM {CATALOG}.{SCHEMA}."{{t}}$logical_iceberg_metadata"',
        "type of a number": f"SELECT date_parse(k, '%Y') FROM {t}",
        "type of a text": f"SELECT date_add('day', 1, v) FROM {t}",
        "type in a format": f"SELECT date_format(v, '%Y') FROM {t}",
        "type in a cast": f"SELECT CAST(v AS DATE) + INTERVAL '1' DAY, k || 'a' FROM {t}",
        "type in a division": f"SELECT k / 2, v / 2, round(v) FROM {t}",
        "type in a union": f"SELECT v FROM {t} UNION SELECT REAL '1'",
        "type of an unknown column": f"SELECT date_parse(nope, '%Y') FROM {t}",
        "immediate": f"EXECUTE IMMEDIATE 'SELECT * FROM {t}'",
        "without a schema": "SELECT * FROM {t}",
        "grouped": f"SELECT v, count(*) FROM {t} GROUP BY v",
    }.items():
        yield name, Door(text)
    for kind in (
        *("partitions", "snapshots", "history", "refs", "manifests", "properties"),
        *("metadata_log_entries", "files", "entries"),
    ):
        yield kind, Door(f'SELECT * FROM {CATALOG}.{SCHEMA}."{{t}}${kind}"')
    for kind in ("properties", "partitions"):
        yield f"describe {kind}", Door(f'DESCRIBE {CATALOG}.{SCHEMA}."{{t}}${kind}"')
    for name, text in {
        "explain": f"EXPLAIN SELECT * FROM {t}",
        "explain io": f"EXPLAIN (TYPE IO) SELECT * FROM {t}",
        "explain validate": f"EXPLAIN (TYPE VALIDATE) SELECT * FROM {t}",
        "explain types": f"EXPLAIN (TYPE VALIDATE) SELECT date_parse(k, '%Y') FROM {t}",
        "explain distributed": f"EXPLAIN (TYPE DISTRIBUTED) SELECT v, count(*) FROM {t} GROUP BY v",
        "explain json": f"EXPLAIN (FORMAT JSON) SELECT * FROM {t}",
        "explain analyze": f"EXPLAIN ANALYZE SELECT count(*) FROM {t}",
        "explain accelerate": f"EXPLAIN ACCELERATE SELECT count(*) FROM {t}",
        "explain why not": f"EXPLAIN WHY NOT SELECT v, count(*) FROM {t} GROUP BY v",
        "verify": f"VERIFY SELECT count(*) FROM {t}",
        "explain create cube": "EXPLAIN CREATE CUBE c AS"
        f" SELECT v, count(*) AS n FROM {t} GROUP BY v",
    }.items():
        yield name, Door(text)
    o = f"{CATALOG}.{SCHEMA}.{OPEN}"
    for name, text in {
        "open": f"SELECT v, count(*) AS n, max(k) AS m FROM {o} GROUP BY v",
        "open rows": f"SELECT k FROM {o} WHERE k > 1",
        "open explain": f"EXPLAIN SELECT v, max(k) FROM {o} GROUP BY v",
        "open explain json": f"EXPLAIN (FORMAT JSON) SELECT v, max(k) FROM {o} GROUP BY v",
        "open explain analyze": f"EXPLAIN ANALYZE SELECT v, max(k) FROM {o} GROUP BY v",
        "open explain accelerate": f"EXPLAIN ACCELERATE SELECT v, max(k) FROM {o} GROUP BY v",
        "open explain why not": f"EXPLAIN WHY NOT SELECT v, max(k) FROM {o} GROUP BY v",
        "open explain io": f"EXPLAIN (TYPE IO) SELECT v, max(k) FROM {o} GROUP BY v",
        "open column": f"SELECT {SECRETS['relate column'][:-1]} FROM {o}",
        "open properties": f'SELECT * FROM {CATALOG}.{SCHEMA}."{OPEN}$properties"',
        "open snapshots": f'SELECT * FROM {CATALOG}.{SCHEMA}."{OPEN}$snapshots"',
        "open create": f"SHOW CREATE TABLE {o}",
        "open stats": f"SHOW STATS FOR {o}",
        "open columns": f"DESCRIBE {o}",
        "open cubes": f"SHOW CUBES ON {o}",
        "open constraints": f"SHOW CONSTRAINTS ON {o}",
        "open relate columns": f"SHOW RELATE COLUMNS ON {o}",
        "open coverage": f"SHOW COVERAGE ON {o}",
        "open statistics": f"SHOW STATISTICS ON {o}",
        "open validate": f"ALTER TABLE {o} VALIDATE CONSTRAINT nope",
        "open validate what is near": f"ALTER TABLE {o} VALIDATE CONSTRAINT"
        f" {SECRETS['constraint'][:-1]}",
        "open drop constraint": f"ALTER TABLE {o} DROP CONSTRAINT nope",
        "open drop relate column": f"ALTER TABLE {o} DROP RELATE COLUMN nope",
        "open drop what is near": f"ALTER TABLE {o} DROP RELATE COLUMN"
        f" {SECRETS['relate column'][:-1]}",
        "open optimize": f"OPTIMIZE {o} SORT BY (nopezz)",
        "open optimize by what is near": f"OPTIMIZE {o} SORT BY ({SECRETS['relate column'][:-1]})",
        "open index": f"CREATE INDEX i ON {o} USING BLOOM ({SECRETS['relate column'][:-1]})",
        "a near name": f"SELECT * FROM {CATALOG}.{SCHEMA}.vaul",
        "a near table": f"DESCRIBE {CATALOG}.{SCHEMA}.vaul",
        "a near catalog": f"SELECT * FROM {_HIDDEN_CATALOG[:-2]}.{SCHEMA}.t",
        "a near catalog's tables": f"SHOW TABLES FROM {_HIDDEN_CATALOG[:-2]}.{SCHEMA}",
        "an unknown catalog": f"SELECT * FROM nowhere.{SCHEMA}.t",
        "an unknown catalog of ours": f"OPTIMIZE nowhere.{SCHEMA}.t",
        "an unknown catalog used": f"USE nowhere.{SCHEMA}",
        "an unknown schema": f"SHOW TABLES FROM {CATALOG}.dd",
    }.items():
        yield name, Door(text)


def _shows() -> Iterator[tuple[str, Door]]:
    t = f"{CATALOG}.{SCHEMA}.{{t}}"
    for name, text in {
        "show columns": f"SHOW COLUMNS FROM {t}",
        "show columns like": f"SHOW COLUMNS FROM {t} LIKE '%'",
        "describe": f"DESCRIBE {t}",
        "show create table": f"SHOW CREATE TABLE {t}",
        "show create view": f"SHOW CREATE VIEW {t}",
        "show stats": f"SHOW STATS FOR {t}",
        "columns": f"SELECT * FROM {CATALOG}.information_schema.columns WHERE table_name = '{{t}}'",
        "comments of columns": "SELECT column_name, comment FROM"
        f" {CATALOG}.information_schema.columns WHERE table_name = '{{t}}'",
        "view definition": "SELECT view_definition FROM"
        f" {CATALOG}.information_schema.views WHERE table_name LIKE '{{t}}'"
        " AND view_definition <> ''",
        "jdbc columns": "SELECT * FROM system.jdbc.columns WHERE table_cat = 'lake'"
        " AND table_name = '{t}'",
        "table comment": "SELECT comment FROM system.metadata.table_comments WHERE"
        f" catalog_name = '{CATALOG}' AND table_name = '{{t}}' AND comment IS NOT NULL",
    }.items():
        yield name, Door(text)
    for name, text in {
        "tables": f"SELECT * FROM {CATALOG}.information_schema.tables WHERE table_name = '{{t}}'",
        "views": f"SELECT * FROM {CATALOG}.information_schema.views WHERE table_name = '{{t}}'",
        "comments": "SELECT * FROM system.metadata.table_comments WHERE"
        f" catalog_name = '{CATALOG}' AND table_name = '{{t}}'",
        "jdbc tables": "SELECT * FROM system.jdbc.tables WHERE table_cat = 'lake'"
        " AND table_name = '{t}'",
        "show tables": f"SHOW TABLES FROM {CATALOG}.{SCHEMA} LIKE '{{t}}'",
    }.items():
        yield name, Door(text, is_name=True)
    for name, text in {
        "all columns": f"SELECT * FROM {CATALOG}.information_schema.columns",
        "all tables": f"SELECT * FROM {CATALOG}.information_schema.tables",
        "all views": f"SELECT * FROM {CATALOG}.information_schema.views",
        "all jdbc columns": "SELECT * FROM system.jdbc.columns",
        "all comments": "SELECT * FROM system.metadata.table_comments",
        "all properties": "SELECT * FROM system.metadata.table_properties",
        "catalogs": "SHOW CATALOGS",
        "jdbc catalogs": "SELECT * FROM system.jdbc.catalogs",
        "schemas": f"SHOW SCHEMAS FROM {CATALOG}",
        "functions": "SHOW FUNCTIONS LIKE 'abs'",
        "session": "SHOW SESSION",
        "all cubes": "SHOW CUBES",
        "all indexes": "SHOW INDEXES",
        "all constraints": "SHOW CONSTRAINTS",
        "all relate columns": "SHOW RELATE COLUMNS",
        "recycle bin": "SHOW RECYCLE BIN",
        "queries": "SHOW QUERIES LIMIT 1000",
        "query log": "SELECT sql, reason_text, cubes, tables, error_message"
        " FROM system.runtime.query_log",
        "runtime queries": "SELECT query FROM system.runtime.queries",
        "advice": "ANALYZE WORKLOAD",
        "recommendations": "SHOW RECOMMENDATIONS",
        "results of advice": "SHOW ADVICE RESULTS",
    }.items():
        yield name, Door(text)


def _ours() -> Iterator[tuple[str, Door]]:
    t, o = f"{CATALOG}.{SCHEMA}.{{t}}", f"{CATALOG}.{SCHEMA}.{OPEN}"
    for name, text in {
        "create cube": f"CREATE CUBE c AS SELECT v, count(*) AS n FROM {t} GROUP BY v",
        "create cube of types": f"CREATE CUBE c AS SELECT date_parse(k, '%Y') AS y FROM {t}",
        "create index": f"CREATE INDEX i ON {t} USING BLOOM (k)",
        "create index of no column": f"CREATE INDEX i ON {t} USING BLOOM (nope)",
        "cubes of": f"SHOW CUBES ON {t}",
        "indexes of": f"SHOW INDEXES ON {t}",
        "coverage of": f"SHOW COVERAGE ON {t}",
        "statistics of": f"SHOW STATISTICS ON {t}",
        "constraints of": f"SHOW CONSTRAINTS ON {t}",
        "relate columns of": f"SHOW RELATE COLUMNS ON {t}",
        "recycle bin of": f"SHOW RECYCLE BIN ON {t}",
        "build all": f"BUILD ALL ON {t}",
        "build statistics": f"BUILD STATISTICS ON {t} (k)",
        "drop statistics": f"DROP STATISTICS ON {t}",
        "analyze": f"ANALYZE {t}",
        "recommendations for": f"SHOW RECOMMENDATIONS ON {t}",
        "apply for": f"APPLY RECOMMENDATIONS FOR {t}",
        "validate": f"ALTER TABLE {t} VALIDATE CONSTRAINT u",
        "refer": f"ALTER TABLE {o} ADD CONSTRAINT f FOREIGN KEY (k) REFERENCES {t} (nope)"
        " NOT ENFORCED",
        "relate": f"ALTER TABLE {o} ADD RELATE COLUMN FROM {t}.nope ON {o}.k = {t}.k AS r",
        "relate computed": f"ALTER TABLE {o} ADD RELATE COLUMN r FROM (upper({t}.v))"
        f" ON {o}.k = {t}.k",
    }.items():
        yield name, Door(text)
    for name, text in {
        "optimize": f"OPTIMIZE {t} SORT BY (nope)",
        "vacuum": f"VACUUM {t}",
        "vacuum snapshots": f"VACUUM {t} SNAPSHOTS",
        "compact": f"COMPACT {t}",
        "add key": f"ALTER TABLE {t} ADD CONSTRAINT p PRIMARY KEY (nope) NOT ENFORCED",
        "drop key": f"ALTER TABLE {t} DROP CONSTRAINT nope",
        "drop relate column": f"ALTER TABLE {t} DROP RELATE COLUMN nope",
        "add relate column": f"ALTER TABLE {t} ADD RELATE COLUMN FROM {o}.v ON {t}.k = {o}.k AS r",
        "publish": f"PUBLISH CUBE plain AS {t}",
    }.items():
        yield name, Door(text, uses="change")
    for name, text in {
        "build cube": "BUILD CUBE known",
        "drop cube": "DROP CUBE known",
        "coverage of cube": "SHOW COVERAGE OF CUBE known",
        "alter cube": "ALTER CUBE known SET REFRESH = MANUAL",
        "undrop": "UNDROP CUBE gone",
        "build index": "BUILD INDEX known",
        "drop index": "DROP INDEX known",
        "coverage of index": "SHOW COVERAGE OF INDEX known",
    }.items():
        yield name, Door(text)


def _paths() -> Iterator[tuple[str, Door]]:
    tables = f"/api/v1/catalogs/{CATALOG}/schemas/{SCHEMA}/tables"
    for part in (
        *("", "/snapshots", "/refs", "/partitions", "/files", "/cubes", "/indexes"),
        *("/coverage", "/statistics", "/recommendations"),
    ):
        yield f"api table{part}", Door(f"{tables}/{{t}}{part}", method="GET")
        if part != "/recommendations":
            yield f"api open{part}", Door(f"{tables}/{OPEN}{part}", method="GET")
    yield "api append", Door(f"{tables}/{{t}}/rows", uses="write", method="POST", body="no rows")
    query = json.dumps({"sql": f"SELECT * FROM {CATALOG}.{SCHEMA}.{{t}}"}).replace("{{", "{")
    yield "api query", Door("/api/v1/query", method="POST", body=query)
    vacuum, analyze = (
        json.dumps({"action": action, "table": [CATALOG, SCHEMA, "{t}"]})
        for action in ("vacuum", "analyze")
    )
    yield "api vacuum", Door("/api/v1/runs", uses="change", method="POST", body=vacuum)
    yield "api analyze", Door("/api/v1/runs", method="POST", body=analyze)
    for action, of in (("refresh", "cube"), ("refresh", "index"), ("compact", "cube")):
        body = json.dumps({"action": action, of: "known"})
        yield f"api {action} {of}", Door("/api/v1/runs", method="POST", body=body)
    for name, path in {
        "api tables": tables,
        "api catalogs": "/api/v1/catalogs",
        "api schemas": f"/api/v1/catalogs/{CATALOG}/schemas",
        "api schemas of another catalog": f"/api/v1/catalogs/{_HIDDEN_CATALOG[:-2]}/schemas",
        "api runs": "/api/v1/runs",
        "page statements": "/ui/api/statements?limit=500",
        "page figures": "/ui/api/figures",
        "metrics": "/metrics",
    }.items():
        yield name, Door(path, method="GET")


DOORS: Mapping[str, Door] = {
    name: door for source in (_queries, _shows, _ours, _paths) for name, door in source()
}
"""By name."""


# Asking


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to one request: all of its texts, and the part that is compared.

    `is_malformed`: the request was refused before anybody's rights were asked for.
    """

    texts: str
    compared: str
    is_malformed: bool = False


_NOISE = re.compile(r'"(?:id|request_id|trace)":\s*"[^"]*"|[0-9]{8}_[0-9]{6}_[0-9]{5}_\w+')


class Asker:
    """One user's requests to a gateway."""

    def __init__(self, host: str, port: int, user: str) -> None:
        self._host, self._port, self._user = host, port, user
        self._connection = http.client.HTTPConnection(host, port, timeout=60)

    def close(self) -> None:
        """Leaves."""
        self._connection.close()

    def ask(self, door: Door, table: str) -> Answered:
        """The answer, with what the page shows of the statement afterwards."""
        text, body = (one.replace("{t}", table) for one in (door.text, door.body))
        if door.method == "SQL":
            return self._statement(text, table)
        status, found = self._request(door.method, text, body)
        shown = _NOISE.sub("", found.replace(table, "it"))
        return Answered(found, f"{status} {shown}", _is_malformed(status, found))

    def _statement(self, sql: str, table: str) -> Answered:
        documents = list(self._documents(sql))
        last = documents[-1]
        rows = [row for one in documents for row in one.get("data", ())]
        error = last.get("error", {})
        said = {key: error.get(key) for key in ("errorName", "message")}
        compared = json.dumps([said, last.get("columns"), rows], sort_keys=True)
        page = self._request("GET", f"/ui/api/statements/{last['id']}", "")[1]
        texts = "\n".join([*map(json.dumps, documents), page])
        malformed = error.get("errorName") == "SYNTAX_ERROR"
        return Answered(texts, _NOISE.sub("", compared.replace(table, "it")), malformed)

    def _documents(self, sql: str) -> Iterator[dict[str, Any]]:
        document = json.loads(self._request("POST", "/v1/statement", sql)[1])
        yield document
        while "nextUri" in document:
            path = urllib.parse.urlsplit(document["nextUri"]).path
            document = json.loads(self._request("GET", path, "")[1])
            yield document

    def _request(self, method: str, path: str, body: str) -> tuple[int, str]:
        headers = {
            "X-Trino-User": self._user,
            "X-Trino-Catalog": CATALOG,
            "X-Trino-Schema": SCHEMA,
            "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",
            "User-Agent": "Trino Python Client/doors",
        }
        if path.startswith("/api/"):
            headers["Content-Type"] = (
                "application/vnd.apache.arrow.stream"
                if path.endswith("/rows")
                else "application/json"
            )
            headers["Idempotency-Key"] = "key-of-doors"
        self._connection.request(method, path, body.encode() or None, headers)
        response = self._connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")


def _is_malformed(status: int, body: str) -> bool:
    """Returns whether the API took the request for none that it has."""
    code = json.loads(body).get("code") if status >= 400 and body.startswith("{") else None
    return status in (405, 411, 415) or code in ("request_invalid", "not_found")


@dataclass(slots=True)
class Outcome:
    """The number of cells asked, and the leaks of each cell that has any.

    `malformed` are the doors that test nothing: each is refused as no request of its kind.
    """

    asked: int = 0
    malformed: set[str] = field(default_factory=set)
    leaks: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def leaking(self) -> int:
        """Cells that leak."""
        return len(self.leaks)


def walked(host: str, port: int, *, one_in: int = 1) -> Outcome:
    """Asks each door with each right of a gateway over the warehouse, under `policy`.

    Of every `one_in` cells one is asked. Up to 6, each door is asked with some right.
    """
    began, outcome = time.monotonic(), Outcome()
    owner = Asker(host, port, OWNER)
    owner.ask(Door(f"SELECT '{SECRETS['statement of another user']}' FROM {{t}}"), VAULT)
    owner.close()
    for turn, (of, right) in enumerate(RIGHTS.items()):
        asker = Asker(host, port, right.user)
        try:
            for number, (name, door) in enumerate(DOORS.items()):
                if (number + turn) % one_in or not right.is_asked(door):
                    continue
                outcome.asked += 1
                found = asker.ask(door, right.target)
                if found.is_malformed:
                    outcome.malformed.add(name)
                leaks = list(_leaks(asker, right, door, found))
                if leaks:
                    outcome.leaks[f"{name} / {of}"] = leaks
        finally:
            asker.close()
    outcome.seconds = time.monotonic() - began
    return outcome


def _leaks(asker: Asker, right: Right, door: Door, found: Answered) -> Iterator[str]:
    """Yields the leaks of the cell, whose answer is given."""
    texts, given = found.texts, door.text + door.body
    for what, secret in _secrets(right).items():
        if _is_told(secret, texts) and secret not in given:
            yield f"{what} ({secret})"
    if door.has_target and not (door.is_name and right.sees):
        other = asker.ask(door, NOTHING)
        if found.compared != other.compared:
            yield f"another answer for a name that nothing has: {found.compared} {other.compared}"


def _is_told(secret: str, texts: str) -> bool:
    """Decides whether the texts have it; a number's digits inside of a time's are none."""
    if not secret.isdigit():
        return secret in texts
    return re.search(rf"(?<![\d.]){secret}(?!\d)", texts) is not None


def _secrets(right: Right) -> Mapping[str, str]:
    """The texts that the user mustn't be told: names of what listings show them are none."""
    names = {VAULT, VIEW, PUBLISHED} - ({right.target} if right.sees else set())
    if "*" in right.read:
        names -= {VIEW, PUBLISHED}
    return {**SECRETS, **{f"table {one}": one for one in names if one != right.target}}
