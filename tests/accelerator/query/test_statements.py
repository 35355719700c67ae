"""Statements of our own: what is ours, what it says, and what goes to Spark untouched."""

from __future__ import annotations

import re
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.errors import StatementError
from accelerator.query.statements.catalog import EXAMPLES, FORMS
from accelerator.query.statements.constraint import Constraint
from accelerator.query.statements.errors import NotBuiltError
from accelerator.query.statements.grammar import INDEX_KINDS
from accelerator.query.statements.nodes import (
    AddConstraint,
    AddRelateColumn,
    Analyze,
    ApplyRecommendations,
    BuildAll,
    BuildCube,
    BuildIndex,
    BuildStatistics,
    CompactCube,
    CreateCube,
    CreateIndex,
    DropConstraint,
    DropCube,
    DropIndex,
    DropRelateColumn,
    DropStatistics,
    EstimateCube,
    ExplainAccelerate,
    ExplainWhyNot,
    NotBuilt,
    OptimizeTable,
    Other,
    PublishCube,
    Query,
    ShowAdviceResults,
    ShowConstraints,
    ShowCoverage,
    ShowCubes,
    ShowIndexes,
    ShowQueries,
    ShowRecommendations,
    ShowRecycleBin,
    ShowRelateColumns,
    ShowStatistics,
    UndropCube,
    VacuumTable,
    ValidateConstraint,
    Verify,
)
from accelerator.query.statements.parse import parse_statement
from indexes.kinds import KINDS
from rewrite.text.first_look import split_statements, without_plain_hint

Q = "SELECT region, sum(price) FROM orders GROUP BY region"

OURS = [
    (f"CREATE CUBE c AS {Q}", CreateCube("c", Q)),
    (f"create or replace cube C deferred as {Q};", CreateCube("C", Q, True, False, True)),
    (f"CREATE CUBE IF NOT EXISTS c AS {Q}", CreateCube("c", Q, if_not_exists=True)),
    (f"EXPLAIN CREATE CUBE c AS {Q}", EstimateCube(CreateCube("c", Q))),
    ("CREATE CUBE c AS (SELECT 1)", CreateCube("c", "(SELECT 1)")),
    ("BUILD CUBE `my cube`", BuildCube("my cube")),
    ("BUILD CUBE `a``b`", BuildCube("a`b")),
    ("BUILD ALL ON lake.d.orders", BuildAll(("lake", "d", "orders"))),
    ("BUILD STATISTICS ON d.t", BuildStatistics(("d", "t"))),
    ("build statistics on t (a, `b c`);", BuildStatistics(("t",), ("a", "b c"))),
    ("DROP STATISTICS ON d.`o.x`", DropStatistics(("d", "o.x"))),
    ("COMPACT CUBE c", CompactCube("c")),
    ("PUBLISH CUBE c", PublishCube("c")),
    ("PUBLISH CUBE c AS shop.c", PublishCube("c", ("shop", "c"))),
    ("DROP CUBE c", DropCube("c")),
    ("DROP CUBE IF EXISTS c", DropCube("c", True)),
    ("DROP CUBE c FORCE", DropCube("c", force=True)),
    ("drop cube if exists force force", DropCube("force", True, True)),
    ("UNDROP CUBE c", UndropCube("c")),
    ("undrop cube `a.b` as c", UndropCube("a.b", "c")),
    ("SHOW RECYCLE BIN", ShowRecycleBin()),
    ("show recycle bin from lake.d.orders", ShowRecycleBin(("lake", "d", "orders"))),
    ("SHOW CUBES", ShowCubes()),
    ("SHOW CUBES ON d.`o.x`", ShowCubes(("d", "o.x"))),
    ("show cubes in 2020_orders", ShowCubes(("2020_orders",))),
    ("SHOW STATISTICS ON d.orders", ShowStatistics(("d", "orders"))),
    ("SHOW COVERAGE OF CUBE `a.b`", ShowCoverage("cube", "a.b")),
    ("show coverage of index i;", ShowCoverage("index", "i")),
    ("SHOW COVERAGE ON d.`o.x`", ShowCoverage(table=("d", "o.x"))),
    ("SHOW COVERAGE FROM t", ShowCoverage(table=("t",))),
    ("SHOW QUERIES", ShowQueries()),
    ("show queries since 1.5 hours limit 0;", ShowQueries(1.5, 0)),
    ("SHOW QUERIES LIMIT 20", ShowQueries(limit=20)),
    ("ANALYZE d.t", Analyze(("d", "t"))),
    ("analyze workload", Analyze(None)),
    ("ANALYZE `workload`;", Analyze(("workload",))),
    (
        "ANALYZE t WITH (bytes = '1 GB', days = 2.5)",
        Analyze(("t",), (("bytes", "1 GB"), ("days", 2.5))),
    ),
    ("SHOW RECOMMENDATIONS", ShowRecommendations()),
    ("SHOW ADVICE RESULTS", ShowAdviceResults()),
    ("SHOW ADVICE RESULTS ON d.t", ShowAdviceResults(("d", "t"))),
    ("SHOW RECOMMENDATIONS ON d.t", ShowRecommendations(("d", "t"))),
    ("APPLY RECOMMENDATION r12e450000000", ApplyRecommendations("r12e450000000")),
    ("apply recommendations for d.t", ApplyRecommendations(table=("d", "t"))),
    ("show statistics from `o.x`;", ShowStatistics(("o.x",))),
    ("SHOW CONSTRAINTS FROM d.2020_orders", ShowConstraints(("d", "2020_orders"))),
    (
        "ALTER TABLE d.t ADD CONSTRAINT pk PRIMARY KEY (a, `b c`) NOT ENFORCED RELY",
        AddConstraint(("d", "t"), Constraint("pk", "primary_key", ("a", "b c"), rely=True)),
    ),
    (
        "ALTER TABLE t ADD CONSTRAINT u UNIQUE (a) NORELY NOT ENFORCED",
        AddConstraint(("t",), Constraint("u", "unique", ("a",))),
    ),
    (
        "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES d.u (b) NOT ENFORCED",
        AddConstraint(("t",), Constraint("f", "foreign_key", ("a",), ("d", "u"), ("b",))),
    ),
    (
        "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u NOT ENFORCED",
        AddConstraint(("t",), Constraint("f", "foreign_key", ("a",), ("u",))),
    ),
    (
        "ALTER TABLE t ADD CONSTRAINT u UNIQUE (a)",
        AddConstraint(("t",), Constraint("u", "unique", ("a",)), enforced=True),
    ),
    ("ALTER TABLE t DROP CONSTRAINT u", DropConstraint(("t",), "u")),
    ("ALTER TABLE t DROP CONSTRAINT IF EXISTS u CASCADE", DropConstraint(("t",), "u", True)),
    ("ALTER TABLE t VALIDATE CONSTRAINT u", ValidateConstraint(("t",), "u")),
    (
        "ALTER TABLE f ADD RELATE COLUMN y FROM dates.y ON d = k",
        AddRelateColumn(("f",), ("dates", "y"), ((("d",), ("k",)),)),
    ),
    (
        "alter table d.f add relate column `a b` from lake.d.o.`A B` on d.f.k = p.k and p.x = o.x"
        " as c",
        AddRelateColumn(
            ("d", "f"),
            ("lake", "d", "o", "A B"),
            ((("d", "f", "k"), ("p", "k")), (("p", "x"), ("o", "x"))),
            "c",
        ),
    ),
    (
        "ALTER TABLE f ADD RELATE COLUMN FROM dates.y ON d = k",
        AddRelateColumn(("f",), ("dates", "y"), ((("d",), ("k",)),)),
    ),
    (
        "ALTER TABLE f ADD RELATE COLUMN FROM ( d.w * d.h ) ON f.k = d.k AS area",
        AddRelateColumn(("f",), (), ((("f", "k"), ("d", "k")),), "area", "( d.w * d.h )"),
    ),
    (
        "ALTER TABLE f ADD RELATE COLUMN place FROM concat(d.`on`, ' ON ', o.y) ON a = b",
        AddRelateColumn(("f",), (), ((("a",), ("b",)),), "place", "concat(d.`on`, ' ON ', o.y)"),
    ),
    (
        "ALTER TABLE f ADD RELATE COLUMN c FROM CASE WHEN d.a THEN d.b ELSE d.c END ON a = b",
        AddRelateColumn(
            ("f",), (), ((("a",), ("b",)),), "c", "CASE WHEN d.a THEN d.b ELSE d.c END"
        ),
    ),
    ("ALTER TABLE d.f DROP RELATE COLUMN y", DropRelateColumn(("d", "f"), "y")),
    (
        "alter table f drop relate column if exists `if`;",
        DropRelateColumn(("f",), "if", if_exists=True),
    ),
    ("SHOW RELATE COLUMNS", ShowRelateColumns()),
    ("show relate columns on d.f", ShowRelateColumns(("d", "f"))),
    ("SHOW RELATE COLUMNS IN `f.g`", ShowRelateColumns(("f.g",))),
    (f"EXPLAIN ACCELERATE {Q}", ExplainAccelerate(Query(Q, Q))),
    (f"EXPLAIN ACCELERATE (FORMAT JSON) {Q}", ExplainAccelerate(Query(Q, Q), "json")),
    (f"EXPLAIN ACCELERATE (format text) {Q}", ExplainAccelerate(Query(Q, Q))),
    ("EXPLAIN ACCELERATE (SELECT 1)", ExplainAccelerate(Query("(SELECT 1)", "(SELECT 1)"))),
    (f"EXPLAIN WHY NOT {Q}", ExplainWhyNot(Query(Q, Q))),
    ("VACUUM d.t", VacuumTable(("d", "t"))),
    ("vacuum t full retain 0.5 hours dry run", VacuumTable(("t",), True, 0.5, True)),
    ("VACUUM t SNAPSHOTS", VacuumTable(("t",), snapshots=True)),
    ("VACUUM t FULL SNAPSHOTS RETAIN 2 HOURS", VacuumTable(("t",), True, 2.0, snapshots=True)),
    ("VACUUM t RETAIN 168 HOURS", VacuumTable(("t",), hours=168.0)),
    ("OPTIMIZE d.t SORT BY (a)", OptimizeTable(("d", "t"), "sort", (("a", False),))),
    (
        "optimize t sort by (`a b` desc, desc, asc asc) with (row_group_mb = 0.5, full = true)",
        OptimizeTable(
            ("t",),
            "sort",
            (("a b", True), ("desc", False), ("asc", False)),
            (("row_group_mb", 0.5), ("full", True)),
        ),
    ),
    ("OPTIMIZE t SORT BY a DESC, b", OptimizeTable(("t",), "sort", (("a", True), ("b", False)))),
    (
        "OPTIMIZE t ZORDER BY (a, b)",
        OptimizeTable(("t",), "zorder", (("a", False), ("b", False))),
    ),
    (
        "OPTIMIZE d.t HILBERT BY a, b WITH (full = false)",
        OptimizeTable(("d", "t"), "hilbert", (("a", False), ("b", False)), (("full", False),)),
    ),
    (f"VERIFY {Q}", Verify(Query(Q, Q))),
]


@pytest.mark.parametrize(("sql", "expected"), OURS, ids=[sql for sql, _ in OURS])
def test_a_statement_of_ours(sql, expected):
    assert parse_statement(sql) == expected
    spaced = f"-- why; so\n /* a /* nested; */ */ {sql}\n;; -- the end"
    assert parse_statement(spaced) == expected


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.words)
def test_every_form_is_parsed_and_has_columns(form):
    sql = form.example or EXAMPLES[form.words.removeprefix("EXPLAIN ")]
    if not form.example:
        sql = f"EXPLAIN {sql}"
    assert type(parse_statement(sql)) is form.kind
    assert form.table([]).column_names == form.schema.names
    assert len(form.schema) == form.columns.count(",") + 1


def test_the_select_is_kept_as_written():
    select = "select  /*+ BROADCAST(d) */ a,\n\t'it''s; 😀' AS `x y` -- c\nFROM  t"
    sql = f"/* é😀 */ CREATE CUBE `a.b`\nAS\n  {select} ;"
    assert parse_statement(sql) == CreateCube("a.b", select)


OTHERS = """
EXPLAIN SELECT 1
EXPLAIN EXTENDED SELECT 1
INSERT INTO t VALUES (1)
CREATE TABLE t AS SELECT 'unclosed
CREATE /* CUBE */ TABLE t AS SELECT 'unclosed
CREATE TABLE cube (a INT)
CREATE INDEX i ON t (a)
CREATE INDEX i ON TABLE t USING BITMAP (a)
CREATE INDEX i ON t USING bloomfilter (a)
DROP INDEX i ON t
DROP TABLE cube
SHOW TABLES
SHOW TABLES IN cubes
SHOW RECYCLE
UNDROP SCHEMA d
ALTER TABLE t ADD COLUMN c INT
ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1)
ALTER TABLE t ADD CONSTRAINT CHECK (a > 1)
ALTER TABLE t ADD PRIMARY KEY (a)
ALTER TABLE IDENTIFIER('t') ADD CONSTRAINT c UNIQUE (a)
ALTER VIEW v AS SELECT 1
ANALYZE TABLE t COMPUTE STATISTICS
ANALYZE TABLES IN d COMPUTE STATISTICS
ANALYZE TABLES IN `d
VACUUM '/path'
VACUUM t LITE
VACUUM t RETAIN HOURS
VACUUM t SNAPSHOTS FULL
VACUUM t RETAIN -1 HOURS
SET x = 1
/*+ PLAIN */ SELECT 1
(BUILD CUBE c)
'CREATE CUBE'
FROM t INSERT INTO u SELECT *
;
-- nothing
""".strip().splitlines()


@pytest.mark.parametrize("sql", [*OTHERS, ""])
def test_the_rest_goes_to_spark_untouched(sql):
    assert parse_statement(sql) == Other(sql)


def test_index_statements():
    text = "CREATE OR REPLACE INDEX i ON d.t USING bloom (a.b) WITH (x = 1.5, y = FALSE, z = 'w')"
    options = (("x", 1.5), ("y", False), ("z", "w"))
    found = CreateIndex("i", ("d", "t"), "BLOOM", ("a", "b"), options, replace=True)
    assert parse_statement(text) == found
    short = parse_statement("create index if not exists i on t using BLOOM (c) deferred")
    assert short == CreateIndex("i", ("t",), "BLOOM", ("c",), if_not_exists=True, deferred=True)
    for kind in INDEX_KINDS:
        made = parse_statement(f"CREATE INDEX i ON t USING {kind.lower()} (c)")
        assert made == CreateIndex("i", ("t",), kind, ("c",))
    assert set(KINDS) == INDEX_KINDS
    for kind in ("NGRAM", "token", "BITMAPS", "BLOM", "TOKEN_BITMP"):
        with pytest.raises(StatementError, match=f"{kind.upper()} is no kind .* NGRAM_BLOOM"):
            parse_statement(f"CREATE INDEX i ON t USING {kind} (c)")
    for kind in ("BTREE", "HASH", "bloomfilter"):
        assert isinstance(parse_statement(f"CREATE INDEX i ON t USING {kind} (c)"), Other)
    assert parse_statement("BUILD INDEX i") == BuildIndex("i")
    assert parse_statement("DROP INDEX IF EXISTS i") == DropIndex("i", if_exists=True)
    assert parse_statement("SHOW INDEXES IN d.t") == ShowIndexes(("d", "t"))


NOT_BUILT = [
    ("OPTIMIZE d.t", ("d", "t")),
    ("OPTIMIZE d.t REWRITE", ("d", "t")),
    ("OPTIMIZE d.t WHERE a = 1 ZORDER BY a", ("d", "t")),
    ("CLUSTER t", ("t",)),
    ("COMPACT t", ("t",)),
    ("PURGE t", ("t",)),
    ("UNDROP TABLE t", ("t",)),
]


@pytest.mark.parametrize(("sql", "table"), NOT_BUILT, ids=[sql for sql, _ in NOT_BUILT])
def test_what_is_planned_says_so(sql, table):
    statement = parse_statement(sql)
    assert isinstance(statement, NotBuilt)
    assert statement.table == table
    error = statement.error()
    assert isinstance(error, NotBuiltError)
    assert error.code == "not_built_yet"
    assert error.hint


BAD = [
    ("SHOW COVERAGE", 14, "OF CUBE, OF INDEX or ON"),
    ("SHOW COVERAGE c", 15, "OF CUBE, OF INDEX or ON"),
    ("SHOW COVERAGE OF t", 18, "CUBE or INDEX"),
    ("SHOW COVERAGE OF CUBE", 22, "the cube's name"),
    ("SHOW COVERAGE OF CUBE a.b", 24, "one part"),
    ("SHOW COVERAGE OF INDEX i ON t", 26, "the statement's end"),
    ("SHOW COVERAGE ON t LIMIT 1", 20, "the statement's end"),
    ("ANALYZE t WITH bytes", 16, "("),
    ("ANALYZE t FULL", 11, "WITH or the end"),
    ("ANALYZE", 8, "a table's name"),
    ("APPLY RECOMMENDATION", 21, "a recommendation's id"),
    ("APPLY RECOMMENDATIONS t", 23, "FOR"),
    ("APPLY t", 7, "RECOMMENDATIONS"),
    ("OPTIMIZE t SORT BY ()", 21, "a column's name"),
    ("OPTIMIZE t SORT BY", 19, "a column's name"),
    ("OPTIMIZE t SORT BY (a", 22, ", or )"),
    ("OPTIMIZE t SORT BY (a.b)", 22, "one part"),
    ("OPTIMIZE t SORT BY (a NULLS LAST)", 23, ", or )"),
    ("OPTIMIZE t ZORDER BY (a DESC)", 25, ", or )"),
    ("OPTIMIZE t SORT BY (a) WITH full", 29, "("),
    ("OPTIMIZE t SORT BY (a) WHERE b", 24, "the statement's end"),
    (f"CREATE CUBE a.b AS {Q}", 14, "one part"),
    (f"CREATE CUBE `` AS {Q}", 13, "the cube's name"),
    (f"CREATE CUBE AS {Q}", 13, "the cube's name, found AS"),
    (f"CREATE CUBE c {Q}", 15, "expected AS, found SELECT"),
    ("CREATE CUBE c AS INSERT INTO t VALUES (1)", 18, "a query"),
    ("CREATE CUBE c AS", 17, "a query (SELECT …), found the end"),
    ("CREATE CUBE 'c' AS SELECT 1", 13, "the cube's name, found 'c'"),
    ("CREATE CUBE 7 AS SELECT 1", 13, "the cube's name, found 7"),
    ("CREATE OR REPLACE CUBE IF NOT EXISTS c AS SELECT 1", 24, "exclude each other"),
    ("CREATE CUBE c AS SELECT 1; SELECT 2", 28, "second statement"),
    ("BUILD", 6, "CUBE, INDEX, STATISTICS or ALL, found the end"),
    ("BUILD CUBES", 7, "CUBE, INDEX, STATISTICS or ALL"),
    ("BUILD ALL t", 11, "expected ON"),
    ("PUBLISH c", 9, "expected CUBE"),
    ("COMPACT CUBE", 13, "the cube's name"),
    ("DROP CUBE c d", 13, "the statement's end, found d"),
    ("DROP CUBE c FORCE PURGE", 19, "the statement's end, found PURGE"),
    ("UNDROP CUBE", 12, "the cube's name"),
    ("UNDROP CUBE c AS", 17, "the cube's name"),
    ("UNDROP CUBE c TO d", 15, "the statement's end, found TO"),
    ("SHOW RECYCLE BIN orders", 18, "the statement's end, found orders"),
    ("SHOW CUBES LIKE 'x'", 12, "the statement's end"),
    ("SHOW CUBES ON d.", 17, "behind the dot"),
    ("ALTER TABLE t ADD CONSTRAINT PRIMARY KEY (a)", 30, "the constraint's name"),
    ("ALTER TABLE t ADD CONSTRAINT c UNIQUE a", 39, "expected (, found a"),
    ("CREATE INDEX i ON t USING BITMAP (a) WITH (rows = )", 51, "quotes, found )"),
    ("CREATE INDEX i ON t USING BITMAP (a) WITH ()", 44, "an option's name, found )"),
    ("CREATE INDEX i ON t USING BITMAP (a, b)", 36, "), found ,"),
    ("CREATE OR REPLACE INDEX IF NOT EXISTS i ON t USING BLOOM (a)", 58, "not both"),
    ("ALTER TABLE t ADD CONSTRAINT c UNIQUE (a", 41, ", or )"),
    ("ALTER TABLE t ADD CONSTRAINT c FOREIGN KEY (a)", 47, "REFERENCES"),
    ("ALTER TABLE t ADD CONSTRAINT c UNIQUE (a) NOT", 43, "the statement's end, found NOT"),
    ("ALTER TABLE t VALIDATE c", 24, "CONSTRAINT"),
    ("ALTER TABLE f ADD RELATE COLUMN", 32, "the relate column's name, or FROM"),
    ("ALTER TABLE f ADD RELATE COLUMN FROM", 37, "the attribute, behind its table's name"),
    ("ALTER TABLE f ADD RELATE COLUMN FROM ON a = b", 38, "the attribute, behind its table's"),
    ("ALTER TABLE f ADD RELATE COLUMN FROM year(d.y) ON a = b", 56, "expected AS, found the end"),
    ("ALTER TABLE f ADD RELATE COLUMN FROM year(d.y)", 47, "expected ON, found the end"),
    ("ALTER TABLE f ADD RELATE COLUMN FROM (d.y ON a = b)", 52, "expected ON, found the end"),
    ("ALTER TABLE f ADD RELATE COLUMN z FROM year(d.y) ON a = b AS q", 59, "end, found AS"),
    ("ALTER TABLE f ADD RELATE COLUMN y ON a = b", 35, "expected FROM"),
    ("ALTER TABLE f ADD RELATE COLUMN y FROM y ON a = b", 42, "a dot and the attribute's name"),
    ("ALTER TABLE f ADD RELATE COLUMN z FROM d.y ON a = b", 44, "AS name renames it"),
    ("ALTER TABLE f ADD RELATE COLUMN y FROM d.y", 43, "expected ON, found the end"),
    ("ALTER TABLE f ADD RELATE COLUMN y FROM d.y ON a", 48, "expected =, found the end"),
    ("ALTER TABLE f ADD RELATE COLUMN y FROM d.y ON a < b", 49, "expected =, found <"),
    ("ALTER TABLE f ADD RELATE COLUMN y FROM d.y ON a = b AND", 56, "a column's name"),
    ("ALTER TABLE f ADD RELATE COLUMN y FROM d.y ON a = b OR c = e", 53, "the statement's end"),
    ("ALTER TABLE f ADD RELATE COLUMN y FROM d.y ON a = b AS", 55, "the relate column's name"),
    ("ALTER TABLE f DROP RELATE COLUMN", 33, "the relate column's name"),
    ("ALTER TABLE f DROP RELATE COLUMN a, b", 35, "the statement's end, found ,"),
    ("SHOW RELATE COLUMNS f", 21, "the statement's end, found f"),
    ("EXPLAIN WHY SELECT 1", 13, "NOT"),
    ("EXPLAIN ACCELERATE INSERT INTO t VALUES (1)", 20, "a query"),
    ("VERIFY", 7, "a query"),
]


@pytest.mark.parametrize(("sql", "column", "said"), BAD, ids=[sql for sql, _, _ in BAD])
def test_malformed_statements_say_where_and_what(sql, column, said):
    with pytest.raises(StatementError, match=re.escape(said)) as caught:
        parse_statement(f"\n{sql}")
    assert caught.value.message.startswith(f"line 2, column {column}: ")
    assert caught.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "-- c\nCREATE CUBE c AS SELECT 'x",
        *("BUILD CUBE `c", "BUILD `c", "BUILD /* c"),
        *("UNDROP CUBE `c", "VERIFY SELECT '", "VERIFY(SELECT '"),
    ],
)
def test_an_unclosed_quote_in_a_statement_of_ours_is_named(sql):
    with pytest.raises(StatementError, match="can't be read") as caught:
        parse_statement(sql)
    assert "closed" in caught.value.hint


def test_other_dialects_quote_as_they_do():
    assert parse_statement('BUILD CUBE "my cube"', "trino") == BuildCube("my cube")


@pytest.mark.parametrize(
    "sql", [Q, f"  {Q}", f"({Q})", f"( /* c */ {Q})", "with a as (select 1) table a"]
)
def test_a_query_is_told_by_its_first_word(sql):
    assert parse_statement(sql) == Query(sql, sql)


@pytest.mark.parametrize(
    ("sql", "bare"),
    [
        ("SELECT /*+ PLAIN */ 1", "SELECT  1"),
        ("SELECT /*+plain*/ 1", "SELECT  1"),
        ("SELECT /*+ BROADCAST(d), PLAIN */ 1", "SELECT /*+ BROADCAST(d) */ 1"),
        ("SELECT /*+ PLAIN, REPARTITION(3, f(c)) */ 1", "SELECT /*+ REPARTITION(3, f(c)) */ 1"),
        ("WITH a AS (SELECT /*+ PLAIN */ 1) TABLE a", "WITH a AS (SELECT  1) TABLE a"),
        ("SELECT '/*+ X', /*+ PLAIN */ 1", "SELECT '/*+ X',  1"),
    ],
)
def test_the_hint_plain(sql, bare):
    assert parse_statement(sql) == Query(sql, bare, plain=True)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '/*+ PLAIN */'",
        'SELECT "/*+ PLAIN */"',
        "SELECT r'\\', '/*+ PLAIN */'",
        "SELECT 'it''s /*+ PLAIN */'",
        "SELECT '\\'/*+ PLAIN */'",
        "SELECT `/*+ PLAIN */` FROM t",
        "SELECT 1 -- /*+ PLAIN */",
        "SELECT 1 /* /*+ PLAIN */ */",
        "SELECT /*+ BROADCAST(plain) */ 1",
        "SELECT /*+ PLAINER */ 1",
    ],
)
def test_what_only_looks_like_the_hint(sql):
    assert parse_statement(sql) == Query(sql, sql)


def test_a_query_costs_next_to_nothing():
    sql = f"SELECT {', '.join(f'c{i}' for i in range(200))} FROM t WHERE a = 'x'"
    runs = 2000
    best = min(timeit.repeat(lambda: parse_statement(sql), number=runs, repeat=5)) / runs
    assert best < 20e-6


def test_scripts_are_split_where_spark_would():
    script = "SELECT ';' ; -- a;b\nSELECT \"x;\" /* ; /* ; */ ; */ ;\n;\n `a;b`; -- end;"
    assert split_statements(script) == [
        "SELECT ';'",
        '-- a;b\nSELECT "x;" /* ; /* ; */ ; */',
        "`a;b`",
    ]
    assert split_statements("BEGIN SELECT 1; SELECT 2; END") == ["BEGIN SELECT 1; SELECT 2; END"]
    assert split_statements(" -- nothing\n;") == []


WORDS = """
CREATE CUBE OR REPLACE IF NOT EXISTS AS SELECT DROP SHOW CUBES ON ALTER TABLE ADD CONSTRAINT t
PRIMARY KEY ( ) , . ; ENFORCED EXPLAIN WHY VERIFY BUILD ALL 'x' `q` ' ` " 1 /*+ PLAIN */ /* --
"""
words = st.sampled_from([*WORDS.split(), "\n"])


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE CUBE `${env:HOME}` AS SELECT g, count(*) FROM d.t GROUP BY g",
        "PUBLISH CUBE c AS shop.`${env:HOME}`",
        "UNDROP CUBE c AS `a${x}`",
        "DROP CUBE `${x}`",
        "ALTER TABLE d.t ADD CONSTRAINT `${x}` UNIQUE (a) NOT ENFORCED",
        "ALTER TABLE d.t ADD CONSTRAINT u UNIQUE (`${x}`) NOT ENFORCED",
        "CREATE INDEX i ON d.`${x}` USING BLOOM (a)",
        "OPTIMIZE d.`${` SORT BY (a)",
    ],
)
def test_names_that_spark_may_replace_are_refused(sql):
    """A published table's properties have its cube's name, which others read."""
    with pytest.raises(StatementError, match=r"has \$\{ in it") as caught:
        parse_statement(sql)
    assert caught.value.line == 1 and "without ${" in caught.value.hint


@given(st.one_of(st.text(max_size=60), st.lists(words, max_size=14).map(" ".join)))
def test_any_text_is_a_statement_or_a_typed_error(sql):
    try:
        statement = parse_statement(sql)
    except StatementError as error:
        assert error.hint
    else:
        if isinstance(statement, Query | Other):
            assert statement.sql == sql
    without_plain_hint(sql)
    split_statements(sql)


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(names, names)
def test_any_name_can_be_quoted(cube, table):
    quoted = ["`" + name.replace("`", "``") + "`" for name in (cube, table)]
    assert parse_statement(f"PUBLISH CUBE {quoted[0]} AS d.{quoted[1]}") == PublishCube(
        cube, ("d", table)
    )
