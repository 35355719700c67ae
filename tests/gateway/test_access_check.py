"""What statements need, and every way round it that was thought of, over a real warehouse."""

from __future__ import annotations

import json
import re
import sqlite3
import uuid

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accelerator
from accelerator.gateway.access.check import check, denied
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.filter_listings import visible
from accelerator.gateway.access.grants import Grant, Object, UserAccess
from accelerator.gateway.access.rulings import Rulings, noting
from accelerator.gateway.access.table_names import NamedTables, named
from accelerator.query.statements import nodes
from accelerator.query.statements.catalog import FORM_OF
from accelerator.query.statements.constraint import Constraint
from accelerator.query.statements.parse import parse_statement
from tests.support.pristine import Pristine

SECRET, OK, DIM = "lake.d.secret", "lake.d.ok", "lake.d.dim"


def _view(root, name, sql, namespace="d"):
    field = {"id": 1, "name": "k", "required": False, "type": "int"}
    version = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "default-namespace": [namespace],
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
    }
    content = {
        "view-uuid": str(uuid.uuid4()),
        "format-version": 1,
        "location": f"file://{root}/{name}",
        "current-version-id": 1,
        "versions": [version],
        "version-log": [{"version-id": 1, "timestamp-ms": 1}],
        "schemas": [{"schema-id": 0, "type": "struct", "fields": [field]}],
    }
    metadata = root / f"{name}.metadata.json"
    metadata.write_text(json.dumps(content))
    with sqlite3.connect(root / "catalog.db") as catalog:
        catalog.execute(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
            " metadata_location, iceberg_type) VALUES ('lake', 'd', ?, ?, 'VIEW')",
            (name, metadata.as_uri()),
        )
    catalog.close()


def _fill(catalog):
    rows = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "v": ["x", "y", None]})
    catalog.create_namespace("d")
    for name in ("ok", "secret", "keys", "dim", "stream", "files"):
        catalog.create_table(f"d.{name}", rows.schema).append(rows)


@pytest.fixture(scope="module")
def acc(tmp_path_factory):
    root = Pristine(tmp_path_factory.mktemp("lakes")).lake(_fill)
    _view(root, "over_ok", "SELECT k FROM ok")
    _view(root, "over_secret", "SELECT k FROM secret")
    _view(root, "over_view", "SELECT k FROM d.over_secret")
    _view(root, "with_secret", "WITH ok AS (SELECT k FROM secret) SELECT k FROM ok")
    _view(root, "itself", "SELECT k FROM itself")
    _view(root, "runs", "SELECT k, reflect('a', 'b') FROM ok")
    with accelerator.open(root) as session:
        session.query("CREATE CUBE plain AS SELECT v, count(*) AS n FROM lake.d.ok GROUP BY v")
        session.query("CREATE CUBE hidden AS SELECT v, count(*) AS n FROM lake.d.secret GROUP BY v")
        session.query(
            "CREATE CUBE joined AS SELECT s.v, count(*) AS n FROM lake.d.dim AS d"
            " JOIN lake.d.secret AS s ON d.k = s.k GROUP BY s.v"
        )
        session.query("CREATE CUBE gone AS SELECT v, count(*) AS n FROM lake.d.secret GROUP BY v")
        session.query("DROP CUBE gone")
        session.query("CREATE CUBE went AS SELECT v, count(*) AS n FROM lake.d.ok GROUP BY v")
        session.query("DROP CUBE went")
        session.query("CREATE INDEX i_ok ON lake.d.ok USING BLOOM (k)")
        session.query("CREATE INDEX i_secret ON lake.d.secret USING BLOOM (k)")
        for table in ("ok", "secret"):
            session.query(
                f"ALTER TABLE lake.d.{table} ADD CONSTRAINT u_{table} UNIQUE (k) NOT ENFORCED"
            )
        yield session


def _access(*patterns, deny=(), change=(), manage="*"):
    grants = [Grant("allow", "read", "table", tuple(p.split("."))) for p in patterns]
    grants += [Grant("deny", "read", "table", tuple(p.split("."))) for p in deny]
    grants += [Grant("allow", "change", "table", tuple(p.split("."))) for p in change]
    if manage:
        grants += [Grant("allow", "manage", kind, (manage,)) for kind in ("cube", "index")]
    return UserAccess.of(grants)


ALL_BUT = _access("lake.*.*", deny=[SECRET], change=["lake.*.*"])
ONLY_OK = _access(OK, "lake.d.over_*", "lake.d.with_secret", "lake.d.itself", "lake.d.runs")


def _checked(acc, sql, access=ALL_BUT):
    return check(parse_statement(sql), access, acc.services)


ATTACKS = [
    "SELECT * FROM lake.d.secret",
    "SELECT * FROM LAKE.d.secret",
    "SELECT * FROM `lake`.`d`.`secret`",
    "SELECT * FROM lake.`d`.secret AS ok",
    "SELECT * FROM lake . d\n. secret",
    "SELECT * FROM lake./* x */d.-- y\nsecret",
    "SELECT * FROM d.secret",
    "SELECT * FROM lake.d.SECRET",
    "SELECT * FROM lake.d.`\u017fecret`",
    "SELECT * FROM lake.d.`secret `",
    "SELECT * FROM lake.d.`s\u00e9cret`",
    "SELECT * FROM lake.d.`sec\u200bret`",
    "SELECT * FROM lake.`d `.secret",
    "SELECT * FROM lake.d.secret.files",
    "SELECT * FROM lake.d.secret.`snapshots`",
    "SELECT * FROM lake.d.secret.branch_main",
    "SELECT * FROM lake.d.secret.snapshot_id_1",
    "SELECT * FROM lake.d.secret.changes",
    "SELECT * FROM lake.d.`secret$logical_iceberg_metadata`",
    "SELECT * FROM lake.d.`SECRET$LOGICAL_ICEBERG_METADATA`",
    "SELECT * FROM lake.d.`secret$logical_iceberg_metadata`.branch_main",
    "SELECT * FROM lake.d.secret VERSION AS OF 1",
    "SELECT * FROM lake.d.secret FOR SYSTEM_TIME AS OF '2026-01-01'",
    "SELECT * FROM lake.d.ok TIMESTAMP AS OF (SELECT max(v) FROM lake.d.secret)",
    "SELECT (SELECT max(k) FROM lake.d.secret) FROM lake.d.ok",
    "SELECT * FROM lake.d.ok WHERE k IN (SELECT k FROM lake.d.secret)",
    "SELECT * FROM lake.d.ok WHERE EXISTS (SELECT 1 FROM lake.d.secret)",
    "SELECT * FROM lake.d.ok JOIN lake.d.secret USING (k)",
    "SELECT * FROM lake.d.ok, lake.d.secret",
    "SELECT * FROM (lake.d.ok JOIN (lake.d.secret) ON true)",
    "SELECT * FROM lake.d.ok, LATERAL (SELECT * FROM lake.d.secret) AS x",
    "SELECT * FROM lake.d.ok UNION ALL SELECT * FROM lake.d.secret",
    "SELECT * FROM lake.d.ok ORDER BY (SELECT max(k) FROM lake.d.secret)",
    "SELECT * FROM lake.d.ok TABLESAMPLE (10 ROWS) JOIN lake.d.secret ON true",
    "SELECT /*+ BROADCAST(ok) */ * FROM lake.d.secret AS ok",
    "SELECT /*+ PLAIN */ * FROM lake.d.secret",
    "TABLE lake.d.secret",
    "(TABLE lake.d.secret)",
    "SELECT * FROM (TABLE lake.d.secret)",
    "WITH x AS (TABLE lake.d.secret) SELECT * FROM x",
    "SELECT 1 UNION ALL TABLE lake.d.secret",
    "SELECT 1 WHERE EXISTS (TABLE lake.d.secret)",
    "FROM lake.d.secret SELECT *",
    "SELECT * FROM (FROM lake.d.secret SELECT *)",
    "WITH x AS (FROM lake.d.secret SELECT *) SELECT * FROM x",
    "FROM lake.d.secret |> SELECT k",
    "SELECT 1 |> UNION ALL (SELECT k FROM lake.d.secret)",
    # Names of WITH.
    "WITH secret AS (SELECT 1) SELECT * FROM lake.d.secret",
    "WITH secret AS (SELECT * FROM d.secret) SELECT * FROM secret",
    "SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x) AS a, lake.d.secret",
    "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, lake.d.secret",
    "WITH lake AS (SELECT 1) SELECT * FROM lake, lake.d.secret",
    "WITH `d.secret` AS (SELECT 1) SELECT * FROM d.secret",
    "WITH `lake.d.secret` AS (SELECT 1) SELECT * FROM lake.d.secret",
    "WITH `\u017fecret` AS (SELECT 1) SELECT * FROM `\u017fecret`, d.secret",
    # Names that aren't seen, and other than tables.
    "SELECT * FROM IDENTIFIER('lake.d.secret')",
    "SELECT * FROM IDENTIFIER('lake.d.' || 'secret')",
    "SELECT * FROM identifier ('lake.d.secret')",
    "SELECT * FROM `identifier`('lake.d.secret')",
    "SELECT * FROM parquet.`/etc/passwd`",
    "SELECT * FROM lake.d.`parquet`.`/etc/passwd`",
    "SELECT * FROM text.`file:///etc/passwd`",
    "SELECT * FROM csv.`/etc/passwd`",
    "SELECT * FROM iceberg.`/lake/d/secret`",
    "SELECT * FROM lake.`/lake/d/secret`",
    "SELECT * FROM spark_catalog.d.secret",
    "SELECT * FROM SPARK_CATALOG.d.secret",
    "SELECT * FROM global_temp.x",
    "SELECT * FROM system.session.x",
    "SELECT * FROM read_files('/etc/passwd')",
    "SELECT * FROM STREAM lake.d.secret",
    "SELECT * FROM STREAM(lake.d.secret)",
    "SELECT * FROM stream d.secret",
    "SELECT * FROM f(TABLE(lake.d.secret))",
    "SELECT * FROM d.f(1)",
    "SELECT lake.d.f(1)",
    "SELECT spark_catalog.system.f(1)",
    "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT `reflect`('java.lang.System', 'getenv', 'HOME')",
    "SELECT java_method ('java.lang.System', 'getenv', 'HOME') FROM lake.d.ok",
    "SELECT Try_Reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT builtin.reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT reflect/**/('java.lang.System', 'getenv', 'HOME')",
    "SELECT TRANSFORM(k) USING 'cat /etc/passwd' AS (x) FROM lake.d.ok",
    "SELECT TRANSFORM(k) USING r'cat' AS (x) FROM lake.d.ok",
    # Comments and quotes that may end elsewhere for others.
    "SELECT 1 /* /*+ */ FROM lake.d.secret */",
    "SELECT 1 /* /* */ */ FROM lake.d.secret",
    "SELECT r'\\' FROM lake.d.ok, lake.d.secret --'",
    "SELECT `a\\` FROM lake.d.ok, lake.d.secret --`",
    "SELECT 1 FROM lake.d.ok -- \\\n, lake.d.secret",
    "SELECT 1 FROM lake.d.ok -- x\r, lake.d.secret",
    "SELECT 1 FROM lake.d.ok # x\n, lake.d.secret",
    "SELECT ${spark.x} FROM lake.d.ok",
    # More than a query, or less.
    "SELECT 1; SELECT * FROM lake.d.secret",
    "WITH x AS (SELECT 1) INSERT INTO lake.d.ok SELECT * FROM x",
    "WITH x AS (SELECT 1) DELETE FROM lake.d.ok",
    "INSERT INTO lake.d.ok SELECT * FROM lake.d.secret",
    "CREATE TABLE lake.d.copy AS SELECT * FROM lake.d.secret",
    "CREATE VIEW lake.d.v AS SELECT * FROM lake.d.secret",
    "DESCRIBE lake.d.secret",
    "SHOW TABLES IN lake.d",
    "SHOW CREATE TABLE lake.d.secret",
    "EXPLAIN SELECT * FROM lake.d.secret",
    "EXPLAIN EXTENDED SELECT * FROM lake.d.ok",
    "CALL lake.system.rollback_to_snapshot('d.secret', 1)",
    "SET x = 1",
    "ADD JAR '/x.jar'",
    "SELEC",
    "",
    # Views.
    "SELECT * FROM lake.d.over_secret",
    "SELECT * FROM lake.d.over_view",
    "SELECT * FROM lake.d.with_secret",
    "SELECT * FROM lake.d.runs",
    "WITH ok AS (SELECT 1) SELECT * FROM lake.d.over_view",
    # Ours.
    "EXPLAIN ACCELERATE SELECT * FROM lake.d.secret",
    "EXPLAIN ANALYZE SELECT * FROM lake.d.secret",
    "EXPLAIN WHY NOT SELECT v, count(*) FROM lake.d.secret GROUP BY v",
    "EXPLAIN ACCELERATE SELECT v, count(*) FROM lake.d.dim GROUP BY v",  # tells of a cube
    "EXPLAIN WHY NOT SELECT v, count(*) FROM lake.d.dim GROUP BY v",
    "VERIFY SELECT * FROM lake.d.secret",
    "CREATE CUBE c AS SELECT v, count(*) AS n FROM lake.d.secret GROUP BY v",
    "CREATE CUBE c AS SELECT v, count(*) AS n FROM lake.d.over_secret GROUP BY v",
    "CREATE OR REPLACE CUBE hidden AS SELECT v, count(*) AS n FROM lake.d.ok GROUP BY v",
    "EXPLAIN CREATE CUBE c AS SELECT v, count(*) AS n FROM lake.d.secret GROUP BY v",
    "BUILD CUBE hidden",
    "BUILD CUBE joined",
    "COMPACT CUBE hidden",
    "PUBLISH CUBE hidden AS lake.d.free",
    "DROP CUBE hidden",
    "DROP CUBE IF EXISTS hidden FORCE",
    "UNDROP CUBE gone",
    "UNDROP CUBE gone AS mine",
    "BUILD ALL ON lake.d.secret",
    "BUILD ALL ON lake.d.dim",  # joined
    "BUILD STATISTICS ON lake.d.secret",
    "BUILD STATISTICS ON lake.d.secret (v)",
    "DROP STATISTICS ON lake.d.secret",
    "CREATE INDEX i ON lake.d.secret USING BLOOM (k)",
    "BUILD INDEX i_secret",
    "ALTER CUBE hidden SET REFRESH = ON COMMIT",
    "ALTER CUBE joined SET REFRESH = MANUAL",
    "ALTER INDEX i_secret SET REFRESH = ON COMMIT",
    "DROP INDEX i_secret",
    "SHOW CUBES ON lake.d.secret",
    "SHOW INDEXES ON lake.d.secret",
    "SHOW COVERAGE ON lake.d.secret",
    "SHOW COVERAGE OF CUBE hidden",
    "SHOW COVERAGE OF CUBE joined",
    "SHOW COVERAGE OF CUBE no_such",
    "SHOW COVERAGE OF INDEX i_secret",
    "SHOW COVERAGE OF INDEX no_such",
    "SHOW RECYCLE BIN ON lake.d.secret",
    "SHOW STATISTICS ON lake.d.secret",
    "ANALYZE lake.d.secret",
    "ANALYZE lake.d.ok",  # shows statements of others
    "ANALYZE WORKLOAD",
    "SHOW RECOMMENDATIONS",
    "SHOW RECOMMENDATIONS ON lake.d.ok",
    "SHOW ADVICE RESULTS",
    "SHOW ADVICE RESULTS ON lake.d.ok",
    "APPLY RECOMMENDATION r000000000000",
    "APPLY RECOMMENDATIONS FOR lake.d.ok",
    "SHOW CONSTRAINTS ON lake.d.secret",
    "SHOW RELATE COLUMNS ON lake.d.secret",
    "ALTER TABLE lake.d.secret VALIDATE CONSTRAINT u_secret",
    "ALTER TABLE lake.d.ok ADD CONSTRAINT f FOREIGN KEY (k) REFERENCES lake.d.secret (k)"
    " NOT ENFORCED",
    "ALTER TABLE lake.d.ok ADD RELATE COLUMN FROM lake.d.secret.v ON lake.d.ok.k = lake.d.secret.k",
    "ALTER TABLE lake.d.ok ADD RELATE COLUMN x FROM (upper(lake.d.secret.v)) ON lake.d.ok.k ="
    " lake.d.secret.k",
    "ALTER TABLE lake.d.ok ADD RELATE COLUMN FROM lake.d.dim.v ON lake.d.ok.k ="
    " lake.d.secret.k AND lake.d.secret.k = lake.d.dim.k",
]


@pytest.mark.parametrize("sql", ATTACKS)
def test_no_way_leads_to_what_may_not_be_read(acc, sql):
    for access in (ALL_BUT, ONLY_OK):
        with pytest.raises(AccessDeniedError):
            _checked(acc, sql, access)


def test_names_that_only_a_catalog_of_java_takes_for_the_denied_one(acc):
    access = _access("lake.*.*", deny=["lake.d.keys", "lake.d.id"])
    for name in ("\u212aeys", "KEYS", "\u0130d", "\u0131d", "ID"):
        with pytest.raises(AccessDeniedError):
            _checked(acc, f"SELECT * FROM lake.d.`{name}`", access)


def test_names_that_are_only_like_an_allowed_one(acc):
    access = _access("lake.d.keys")
    assert _checked(acc, "SELECT * FROM lake.d.keys", access)
    for name in ("\u212aeys", "keys ", "k\u0435ys"):
        with pytest.raises(AccessDeniedError):
            _checked(acc, f"SELECT * FROM lake.d.`{name}`", access)


OURS = [
    ("SELECT * FROM lake.d.ok", {OK}),
    ("SELECT * FROM d.ok", {OK}),
    ("SELECT 1", set()),
    ("SELECT '\\' FROM lake.d.ok, lake.d.secret --'", set()),
    ("VALUES (1), (2)", set()),
    ("TABLE lake.d.ok", {OK}),
    ("SELECT * FROM range(3), explode(array(1)) AS t(x)", set()),
    ("SELECT * FROM lake.d.ok LATERAL VIEW explode(array(k)) AS z", {OK}),
    ("SELECT secret.k FROM lake.d.ok AS secret", {OK}),
    ("WITH secret AS (SELECT 1 AS k) SELECT * FROM secret", set()),
    ("WITH SECRET AS (SELECT 1 AS k) SELECT * FROM secret, lake.d.ok", {OK}),
    ("WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n) SELECT * FROM n", set()),
    ("SELECT 'lake.d.secret', \"lake.d.secret\" FROM lake.d.ok -- lake.d.secret", {OK}),
    ("SELECT * FROM lake.d.ok.files", {OK}),
    ("SELECT * FROM lake.d.files", {"lake.d.files"}),
    ("SELECT * FROM lake.d.ok.branch_main", {OK}),
    ("SELECT content FROM lake.d.`ok$logical_iceberg_metadata`", {OK}),
    ("SELECT * FROM lake.d.ok VERSION AS OF 1", {OK}),
    ("SELECT lake.system.bucket(4, k) FROM lake.d.ok", {OK}),
    ("SELECT * FROM lake.d.over_ok", {OK, "lake.d.over_ok"}),
    ("SELECT * FROM lake.d.itself", {"lake.d.itself"}),
    ("EXPLAIN ACCELERATE SELECT v, count(*) FROM lake.d.ok GROUP BY v", {OK}),
    ("VERIFY SELECT v FROM lake.d.ok", {OK}),
    ("CREATE CUBE c AS SELECT v, count(*) AS n FROM lake.d.ok GROUP BY v", {OK}),
    ("BUILD CUBE plain", {OK}),
    ("UNDROP CUBE went AS back", {OK}),
    ("BUILD INDEX i_ok", {OK}),
    ("BUILD ALL ON lake.d.ok", {OK}),
    ("SHOW CUBES", set()),
    ("SHOW COVERAGE ON lake.d.ok", {OK}),
    ("SHOW COVERAGE OF CUBE plain", {OK}),
    ("SHOW COVERAGE OF INDEX i_ok", {OK}),
    ("SHOW STATISTICS ON lake.d.ok", {OK}),
    ("ALTER TABLE lake.d.ok VALIDATE CONSTRAINT u_ok", {OK}),
]


@pytest.mark.parametrize(("sql", "tables"), OURS, ids=[sql for sql, _ in OURS])
def test_what_is_allowed_is_checked_and_its_tables_are_told(acc, sql, tables):
    found = {".".join(full) for full in _checked(acc, sql, _access("lake.d.*", deny=[SECRET]))}
    assert found == tables


@pytest.mark.parametrize("sql", [sql for sql, tables in OURS if tables])
def test_nothing_of_it_is_allowed_without_a_rule(acc, sql):
    with pytest.raises(AccessDeniedError):
        _checked(acc, sql, UserAccess())


def test_changes_need_their_own_rule(acc):
    for sql in (
        "OPTIMIZE lake.d.ok SORT BY (k)",
        "VACUUM lake.d.ok",
        "BUILD STATISTICS ON lake.d.ok (k)",
        "DROP STATISTICS ON lake.d.ok",
        "ALTER TABLE lake.d.ok ADD CONSTRAINT p PRIMARY KEY (k) NOT ENFORCED",
        "ALTER TABLE lake.d.ok DROP CONSTRAINT u_ok",
        "ALTER TABLE lake.d.ok DROP RELATE COLUMN IF EXISTS x",
        "PUBLISH CUBE plain",
        "PUBLISH CUBE plain AS lake.d.free",
        "COMPACT lake.d.ok",
    ):
        with pytest.raises(AccessDeniedError, match="change"):
            _checked(acc, sql, _access("lake.d.*"))
        _checked(acc, sql, _access("lake.d.*", change=["lake.d.*"]))
        with pytest.raises(AccessDeniedError):
            _checked(acc, sql.replace(".ok", ".over_ok").replace("plain", "none"))


def test_cubes_and_indexes_need_a_rule_to_be_managed(acc):
    for sql in (
        "BUILD CUBE plain",
        "DROP INDEX i_ok",
        "ALTER CUBE plain SET REFRESH = ON COMMIT",
        "ALTER INDEX i_ok SET REFRESH = ON COMMIT",
        "CREATE CUBE n AS SELECT 1",
        "UNDROP CUBE x",
    ):
        with pytest.raises(AccessDeniedError, match="manage"):
            _checked(acc, sql, _access("lake.d.*", manage=""))


@pytest.mark.parametrize(
    ("sql", "there"),
    [
        ("SELECT * FROM lake.d.{}", "secret"),
        ("SELECT * FROM lake.d.{}.files", "secret"),
        ("SELECT * FROM lake.d.{}.branch_x", "secret"),
        ("SELECT * FROM lake.d.`{}$logical_iceberg_metadata`", "secret"),
        ("SHOW STATISTICS ON lake.d.{}", "secret"),
        ("OPTIMIZE lake.d.{} SORT BY (k)", "secret"),
        ("BUILD CUBE {}", "hidden"),
        ("DROP INDEX {}", "i_secret"),
        ("ALTER CUBE {} SET REFRESH = MANUAL", "hidden"),
        ("ALTER INDEX {} SET REFRESH = MANUAL", "i_secret"),
        ("UNDROP CUBE {}", "gone"),
    ],
)
def test_what_is_not_there_and_what_is_not_allowed_give_one_error(acc, sql, there):
    access = _access("lake.*.*", deny=["lake.d.secre*"])
    said = []
    for name in (there, "secreu"):
        with pytest.raises(AccessDeniedError) as raised:
            _checked(acc, sql.format(name), access)
        said.append(str(raised.value).replace(name, "it"))
    assert said[0] == said[1]


def test_a_view_tells_nothing_of_what_is_under_it(acc):
    with pytest.raises(AccessDeniedError) as raised:
        _checked(acc, "SELECT * FROM lake.d.over_view")
    assert "secret" not in str(raised.value)
    assert "lake.d.over_view" in str(raised.value)


def test_rules_are_asked_before_any_catalog(acc, monkeypatch):
    def fail(*_args):
        raise AssertionError("a catalog was asked")

    reader = acc.services.lake.catalogs["lake"]
    for name in ("pointer", "view", "is_absent"):
        monkeypatch.setattr(reader, name, fail)
    for sql in ("SELECT * FROM lake.d.secret", "SELECT * FROM lake.d.nothing", "BUILD CUBE hidden"):
        with pytest.raises(AccessDeniedError):
            _checked(acc, sql, UserAccess())


def test_a_published_cube_needs_the_tables_under_it(tmp_path):
    def fill(catalog):
        _fill(catalog)
        rows = pa.table({"v": ["x"], "n": [1]})
        of = {"accelerator.published.cube": "hidden"}
        catalog.create_table("d.hidden_cube", rows.schema, properties=of)
        lost = {"accelerator.published.cube": "nobody"}
        catalog.create_table("d.lost_cube", rows.schema, properties=lost)

    with accelerator.open(Pristine(tmp_path).lake(fill)) as session:
        session.query("CREATE CUBE hidden AS SELECT v, count(*) AS n FROM d.secret GROUP BY v")
        sql = "SELECT * FROM lake.d.hidden_cube"
        with pytest.raises(AccessDeniedError, match="hidden_cube"):
            _checked(session, sql)
        both = _checked(session, sql, _access("lake.*.*"))
        assert both == {("lake", "d", "hidden_cube"), ("lake", "d", "secret")}
        with pytest.raises(AccessDeniedError):
            _checked(session, "SELECT * FROM lake.d.lost_cube", _access("lake.*.*"))


def test_what_ends_a_published_table_needs_its_own_rule(tmp_path):
    with accelerator.open(Pristine(tmp_path).lake(_fill)) as session:
        for name in ("shown", "plain"):
            session.query(f"CREATE CUBE {name} AS SELECT v, count(*) AS n FROM d.ok GROUP BY v")
        registry = session.services.store.registry()
        id = registry.cubes["shown"].id
        session.services.store.change_cube("shown", id, published="lake.pub.shown_cube")
        select = "AS SELECT v, count(*) AS n FROM lake.d.ok GROUP BY v"
        ends = (
            "DROP CUBE {cube}",
            "DROP CUBE IF EXISTS {cube} FORCE",
            f"CREATE OR REPLACE CUBE {{cube}} {select}",
            "PUBLISH CUBE {cube} AS lake.d.elsewhere",
        )
        reader = _access("lake.*.*", change=["lake.d.*"])
        owner = _access("lake.*.*", change=["lake.d.*", "lake.pub.*"])
        for sql in ends:
            with pytest.raises(AccessDeniedError, match="cube shown that you may change") as found:
                _checked(session, sql.format(cube="shown"), reader)
            assert "pub" not in str(found.value)
            _checked(session, sql.format(cube="shown"), owner)
            _checked(session, sql.format(cube="plain"), reader)
        for sql in (
            "BUILD CUBE shown",
            "COMPACT CUBE shown",
            f"CREATE CUBE IF NOT EXISTS shown {select}",
        ):
            _checked(session, sql, reader)


def test_without_a_policy_all_is_allowed_and_only_told_tables_may_be_kept(acc):
    everything = UserAccess.all()
    assert _checked(acc, "SELECT * FROM lake.d.secret", everything) == {("lake", "d", "secret")}
    for sql in (
        "SHOW TABLES",
        "SELECT reflect('a', 'b')",
        "SELECT * FROM lake.d.nothing",
        "SELEC",
    ):
        assert _checked(acc, sql, everything) is None


def test_needs_are_told(acc):
    rulings, sql = Rulings(), "SELECT * FROM lake.d.over_secret"
    with noting(rulings):
        _checked(acc, sql, UserAccess.all())
    view, secret = ("read", "table lake.d.over_secret"), ("read", "table lake.d.secret")
    assert list(rulings.allowed) == [view, secret]
    with noting(rulings), pytest.raises(AccessDeniedError):
        _checked(acc, sql, _access("lake.d.over_secret"))
    assert rulings.refused == view, "what is asked for is told, not what is under it"


SCOPES = [
    ("(WITH s AS (SELECT 1) SELECT 1) UNION ALL SELECT * FROM s", [("s",)]),
    ("WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) SELECT * FROM a, b", [("b",)]),
    ("WITH a AS (SELECT 1 UNION ALL SELECT * FROM b), b AS (SELECT 2) SELECT * FROM b", [("b",)]),
    ("WITH a AS (SELECT 1), b AS (WITH a AS (SELECT * FROM a) SELECT * FROM a) TABLE b", None),
    ("SELECT (WITH s AS (SELECT 1) SELECT * FROM s), (SELECT 1 FROM s)", [("s",)]),
    ("SELECT * FROM x WHERE EXISTS (WITH x AS (SELECT 1) SELECT * FROM x)", [("x",)]),
    ("WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a", [("b",)]),
    ("WITH a AS (SELECT 1) SELECT * FROM A, `a`, d.a, a.files", [("d", "a"), ("a", "files")]),
    ("SELECT * FROM a.b.c.d.e", [("a", "b", "c", "d", "e")]),
]


@pytest.mark.parametrize(("sql", "tables"), SCOPES, ids=[sql for sql, _ in SCOPES])
def test_names_of_with_hold_where_they_are_seen(sql, tables):
    found = named(sql)
    assert (list(found.tables) if not found.untold else None) == tables


def test_names_of_with_that_only_case_tells_apart():
    sql = "WITH Secret AS (SELECT 1) SELECT * FROM secret"
    assert named(sql) == NamedTables()
    assert named(sql, case_sensitive=True).untold


LISTED = [
    ("SHOW CUBES", "cube", {"plain", "hidden", "joined"}, {"plain"}),
    ("SHOW INDEXES", "index", {"i_ok", "i_secret"}, {"i_ok"}),
    ("SHOW RECYCLE BIN", "name", {"gone", "went"}, {"went"}),
    ("SHOW CONSTRAINTS", "name", {"u_ok", "u_secret"}, {"u_ok"}),
]


@pytest.mark.parametrize(("sql", "column", "every", "seen"), LISTED, ids=[one[0] for one in LISTED])
def test_listings_leave_out_what_is_hidden(acc, sql, column, every, seen):
    answer, statement = acc.query(sql).arrow(), parse_statement(sql)
    assert set(answer[column].to_pylist()) == every
    for access, wanted in ((ALL_BUT, seen), (UserAccess(), set()), (_access("lake.*.*"), every)):
        found = visible(statement, answer, access, acc.services)
        assert found.schema == answer.schema
        assert set(found[column].to_pylist()) == wanted
    assert visible(statement, answer, UserAccess.all(), acc.services) is answer


def test_coverage_leaves_out_artifacts_over_what_is_hidden(acc):
    statement = parse_statement("SHOW COVERAGE ON lake.d.dim")
    answer = acc.query("SHOW COVERAGE ON lake.d.dim").arrow()
    assert answer["artifact"].to_pylist() == ["joined"]
    assert visible(statement, answer, ALL_BUT, acc.services).num_rows == 0
    assert visible(statement, answer, _access("lake.*.*"), acc.services).equals(answer)
    # An index may have the name of a cube, and the cube be hidden.
    twice = answer.set_column(0, "artifact", [["i_ok"]]).set_column(1, "kind", [["BLOOM"]])
    both = pa.concat_tables([answer, twice])
    assert visible(statement, both, ALL_BUT, acc.services).equals(twice)


def _statements():
    query = nodes.Query("SELECT * FROM lake.d.secret", "SELECT * FROM lake.d.secret")
    cube = nodes.CreateCube("hidden", query.bare)
    table = ("lake", "d", "secret")
    values = {
        "cube": cube,
        "query": query,
        "table": table,
        "name": "hidden",
        "select_sql": query.bare,
        "sql": query.bare,
        "bare": query.bare,
        "kind": "BLOOM",
        "column": ("k",),
        "constraint": Constraint("p", "primary_key", ("k",)),
        "source": (*table, "v"),
        "equalities": (((*table, "k"), (*table, "k")),),
        "order": "sort",
        "keys": (("k", False),),
        "what": "COMPACT",
        "when": "manual",
    }
    for kind in (nodes.Query, nodes.NotBuilt, nodes.Other, *FORM_OF):
        names = kind.__struct_fields__
        yield kind(**{n: v for n, v in values.items() if n in names})


@pytest.mark.parametrize("statement", list(_statements()), ids=lambda one: type(one).__name__)
def test_every_kind_of_statement_has_a_rule(acc, statement):
    """Each names what mustn't be read: a new kind without a rule of its own is denied too."""
    if isinstance(statement, nodes.ShowQueries):  # its rows are the asker's own
        assert check(statement, UserAccess(), acc.services) == frozenset()
        return
    with pytest.raises(AccessDeniedError):
        check(statement, UserAccess(), acc.services)
    with pytest.raises(AccessDeniedError) as raised:
        check(statement, _access(OK, change=[OK]), acc.services)
    assert "isn't known" not in str(raised.value)


def test_what_no_rule_knows_is_denied(acc):
    with pytest.raises(AccessDeniedError, match="isn't known"):
        check(object(), _access("lake.*.*"), acc.services)


TEXT = """
    SELECT FROM WITH AS TABLE VALUES ( ) , * k 1 'x' ok secret lake.d.ok lake.d.secret
    `lake`.`d`.`secret` lake.d.secret.files d.over_view JOIN ON true UNION ALL WHERE EXISTS IN
    LATERAL VIEW explode(array(1)) a b VERSION OF IDENTIFIER ('lake.d.secret') /* */ -- \\ STREAM
    USING RECURSIVE GROUP BY HAVING ORDER LIMIT PIVOT TABLESAMPLE range(3) WINDOW . ;
"""
WORDS = st.sampled_from([*TEXT.split(), "\n"])


@settings(max_examples=150, deadline=None)
@given(words=st.lists(WORDS, max_size=14), start=st.sampled_from(["SELECT * FROM", "WITH ok AS ("]))
def test_a_text_of_any_words_is_denied_or_names_nothing_hidden(acc, words, start):
    sql = " ".join([start, *words])
    try:
        found = _checked(acc, sql)
    except AccessDeniedError:
        return
    except accelerator.AcceleratorError:
        return  # of the grammar of ours
    assert found is not None
    assert ("lake", "d", "secret") not in found
    # Whatever the text says of the hidden table stands in a text or a comment, or is a mere alias
    # or column.
    column = re.search(r"SELECT\s+lake\.d\.secret\.files", sql) is not None
    assert "lake.d.secret.files" not in sql or "--" in sql or "/*" in sql or column


@pytest.mark.parametrize(
    "sql",
    [
        " UNION ALL ".join(["SELECT k FROM lake.d.ok"] * 1_500),
        "SELECT * FROM (" * 3_000 + "SELECT * FROM lake.d.ok" + ")" * 3_000,
        "SELECT k FROM lake.d.ok -- " + "x" * 1_000_000,
    ],
    ids=["wide", "deep", "long"],
)
def test_what_takes_too_long_to_look_through_is_denied(acc, sql):
    with pytest.raises(AccessDeniedError):
        _checked(acc, sql)


def test_a_record_with_a_name_of_no_parts_is_of_no_table():
    for full in ((), ("ok",)):
        assert not ONLY_OK.may("read", Object.table(full))


def test_errors_are_one_line_whatever_stands_in_names():
    error = denied("read", Object.table(("lake", "d\x1b[2J\n", "x" * 5000)))
    assert "\x1b" not in str(error)
    assert len(error.message) < 300
    assert "\n" not in error.message
