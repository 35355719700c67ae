"""What is told at once, Spark says too: under the same class, of typos and of random faults."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException

from accelerator.errors import AcceleratorError, StatementError
from accelerator.query.early_errors.check import raise_fault
from rewrite.analysis.misuse import misuse
from rewrite.analysis.syntax_errors import syntax_fault
from rewrite.text.spark_keywords import ARGUMENTS, FUNCTIONS, KEYWORDS
from rewrite.text.spark_lexer import Token, scanned
from tests.support.at_once import told_at_once
from tests.support.extent import sized
from tests.support.mistakes import Mistake, told_of_spark
from tests.support.statements import FOLDER, read
from tests.support.typos import Typo, typos

pytestmark = pytest.mark.spark
LIVE = True
_CORPUS = Path(__file__).parent / "corpus"
_LEXER = "org.apache.spark.sql.catalyst.parser.SqlBaseLexer"
_OF_UNITS = ("date_add", "date_diff", "dateadd", "datediff")
"""Functions that take a unit of time as a third argument, and no other."""
_ANSWERED = [
    "SELECT amount * 2 AS twice, twice + 1 AS more FROM shop.sales",
    "SELECT region r FROM shop.sales GROUP BY r HAVING count(*) > 0 ORDER BY r",
    "SELECT SALES.REGION, shop.sales.amount, lake.shop.sales.store FROM shop.sales",
    "SELECT s.region, t.city FROM shop.sales s JOIN shop.stores t ON s.store = t.id",
    "SELECT id, city FROM shop.sales JOIN shop.stores ON store = id",
    "SELECT id FROM shop.stores JOIN (SELECT store id FROM shop.sales) USING (id)",
    "SELECT col FROM (SELECT explode(array(1, 2)))",
    "SELECT pos, col FROM (SELECT posexplode(array(1, 2)))",
    "SELECT key, value FROM (SELECT explode(map('a', 1)))",
    "SELECT col1, col2 FROM VALUES (1, 2)",
    "SELECT a FROM VALUES (1, 2) AS t(a, b)",
    "SELECT x.n FROM (SELECT named_struct('n', 1) AS x)",
    "SELECT n FROM (SELECT inline(array(named_struct('n', 1))))",
    "SELECT foo FROM (SELECT inline(from_json('[]', 'array<struct<foo: int>>')))",
    "SELECT abc FROM (SELECT 'abc')",
    "SELECT c0 FROM (SELECT json_tuple('{}', 'a'))",
    "SELECT current_date, current_user, user FROM shop.sales",
    "SELECT count(*) FROM shop.sales WHERE EXISTS (SELECT 1 FROM shop.stores WHERE id = store)",
    "SELECT (SELECT max(city) FROM shop.stores WHERE id = sales.store) AS c FROM shop.sales",
    "SELECT transform(array(1), y -> y + amount) FROM shop.sales",
    "SELECT /*+ BROADCAST(nobody) */ region FROM shop.sales",
    "SELECT /*+ nothing known here, MERGE(c) */ region FROM shop.sales",
    "SELECT _file, _pos FROM shop.sales",
    "SELECT count(*) FROM shop.sales.files",
    "SELECT count(*) FROM lake.shop.sales.snapshots",
    "SELECT snapshot_id FROM shop.sales.history",
    "SELECT count(*) FROM shop.sales.branch_main",
    "SELECT system.bucket(4, store), lake.system.years(DATE '2020-01-01') FROM shop.sales",
    "SELECT region FROM shop.sales WINDOW w AS (ORDER BY amount)",
    "SELECT sum(amount) OVER w AS s FROM shop.sales WINDOW w AS (PARTITION BY region)",
    "SELECT extract(dow FROM DATE '2020-01-01') FROM shop.sales",
    "SELECT timestampadd(QUARTER, 1, TIMESTAMP '2020-01-01') FROM shop.sales",
    "SELECT region COLLATE UTF8_LCASE AS r FROM shop.sales",
    "SELECT INTERVAL 3 DAY d, INTERVAL '1' YEAR y, DATE '2020-01-01' x FROM shop.sales",
    "SELECT t.c FROM shop.sales LATERAL VIEW explode(array(1)) t c",
    "SELECT c FROM shop.sales LATERAL VIEW OUTER explode(array(1)) t c WHERE c > 0",
    "SELECT * FROM shop.sales PIVOT (sum(amount) AS a FOR region IN ('a' AS x, 'b' y))",
    "SELECT * FROM shop.stores UNPIVOT (v FOR k IN (city AS town))",
    "WITH shop AS (SELECT 1 AS one) SELECT one FROM shop",
    "WITH t(a) AS (SELECT amount FROM shop.sales) SELECT a FROM t",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
    "SELECT grouping__id FROM shop.sales GROUP BY region WITH ROLLUP",
    "SELECT shop.sales.region FROM lake.shop.sales",
    "SELECT amount left FROM shop.sales",
    "SELECT amount by FROM shop.sales",
    "SELECT * EXCEPT (region) FROM shop.sales",
    "SELECT region FROM shop.sales ORDER BY ALL",
    "SELECT region, sum(amount) FROM shop.sales GROUP BY region ORDER BY 2",
    "SELECT store + 1, count(*) FROM shop.sales GROUP BY store",
    "SELECT store s, max(amount) FROM shop.sales GROUP BY s HAVING max(amount) > 1",
    "SELECT region, store, sum(amount) FROM shop.sales GROUP BY 1, store",
    "SELECT upper(region) AS r, count(*) FROM shop.sales GROUP BY r",
    "SELECT upper(region), count(*) FROM shop.sales GROUP BY upper(region)",
    "SELECT region, count(*) FROM shop.sales GROUP BY ALL",
    "SELECT region, store, count(*) FROM shop.sales GROUP BY ROLLUP (region, store)",
    "SELECT any_value(region), sum(amount) FROM shop.sales",
    "SELECT 1 + 2, sum(amount) FROM shop.sales",
    "SELECT mode(region), bit_or(store), count(*) FROM shop.sales",
    "SELECT amount + 1 AS amount, count(*) FROM shop.sales GROUP BY amount + 1",
    "SELECT amount AS a, a + 1 AS b, count(*) FROM shop.sales GROUP BY amount",
    "SELECT sales.store, count(*) FROM shop.sales GROUP BY store",
    "SELECT s.store, t.id, count(*) FROM shop.sales s JOIN shop.stores t ON s.store = t.id"
    " GROUP BY s.store, t.id",
    "SELECT *, count(*) FROM shop.stores GROUP BY id, city",
    "SELECT CASE WHEN store = 1 THEN 'x' END, count(*) FROM shop.sales GROUP BY store",
    "SELECT abs(store), lower(region), length(region) FROM shop.sales WHERE store = '1'",
    "SELECT store FROM shop.sales WHERE amount > -1 ORDER BY 1 LIMIT 5",
    "SELECT CAST(NULL AS ARRAY<INT>) a, CAST(NULL AS STRUCT<date:INT, b: INT>) b",
    "SELECT store FROM shop.sales UNION SELECT id FROM shop.stores",
    "FROM shop.sales SELECT region r WHERE amount > 1",
    "FROM shop.sales |> WHERE amount > 1 |> SELECT region r",
    "TABLE shop.sales",
    "VALUES (1, 2)",
    "SELECT 1 -- it's a comment",
    "SELECT 'it''s', r'\\', \"it's\", `region` FROM shop.sales",
    "SELECT 1 /* a ( */, '(', \"(\", `(` FROM (SELECT 1 AS `(`)",
    "SELECT 1 a, 2 b, 'x' c, (3) d, array(1)[0] e",
    "SELECT stack(2, 1, 2) FROM shop.sales",
    "SELECT id FROM range(3) t",
    "SELECT amount div 2 d, amount % 2 m, -amount n, ~amount o FROM shop.sales",
    "SELECT count(*) FROM shop.sales TABLESAMPLE (10 PERCENT) s",
    "SELECT count(*) FROM shop.sales VERSION AS OF 'main' s",
    "SELECT CASE WHEN amount > 1 THEN 'x' ELSE 'y' END k FROM shop.sales",
    "SELECT region FROM shop.sales s SEMI JOIN shop.stores t ON s.store = t.id",
    "SELECT max(struct(amount, region)).region FROM shop.sales",
    "SELECT a.* FROM (SELECT amount, region FROM shop.sales) a",
    "SELECT amount, 1 FROM shop.sales UNION ALL SELECT id, id FROM shop.stores ORDER BY amount",
    "SELECT region LIKE FROM shop.sales",
    "SELECT trim(BOTH 'x' FROM region), substring(region FROM 2), left(region, 1) FROM shop.sales",
    "SELECT dateadd(DAY, 1, DATE '2020-01-01'), datediff(DAY, current_date, current_date)",
    "SELECT mode() WITHIN GROUP (ORDER BY store) FROM shop.sales",
    "SELECT CAST(amount AS DECIMAL(20, 2)), CAST(NULL AS MAP<INT, DECIMAL(10, 2)>) FROM shop.sales",
    "SELECT region AS store FROM shop.sales WHERE store = 1",
    "SELECT amount AS user FROM shop.sales WHERE user = 'x'",
    "SHOW TABLES IN shop LIKE 's*'",
    "SHOW FUNCTIONS LIKE",
    "SHOW USER FUNCTIONS",
    "SET spark.sql.some.key=(",
    "EXPLAIN SELECT region FROM shop.sales",
    "DESCRIBE shop.sales",
]
"""What Spark answers, in ways that look like faults."""


@pytest.fixture(scope="module")
def spark(spark_warehouse: Any) -> Iterator[Any]:
    found = spark_warehouse.spark
    found.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
    found.sql("CREATE TABLE lake.shop.sales (store INT, amount BIGINT, region STRING)")
    found.sql("CREATE TABLE lake.shop.empty (store INT, amount BIGINT, region STRING)")
    found.sql("CREATE TABLE lake.shop.stores (id INT, city STRING)")
    found.sql("INSERT INTO lake.shop.sales VALUES (1, 5, 'a'), (2, 7, 'b')")
    yield found
    for name in ("sales", "stores", "empty", "kinds"):
        found.sql(f"DROP TABLE IF EXISTS lake.shop.{name} PURGE")
    found.sql("DROP NAMESPACE lake.shop")
    found.conf.unset("spark.sql.some.key")  # which one of the statements sets


def _condition(spark: Any, sql: str) -> str | None:
    """Of Spark's error for the statement; None where it takes it. No query is run."""
    try:
        spark.sql(sql)
    except PySparkException as error:
        return error.getCondition() or type(error).__name__
    return None


def test_all_words_of_the_grammar_and_all_functions_are_known(spark: Any) -> None:
    lexer = spark._jvm
    for part in _LEXER.split("."):
        lexer = getattr(lexer, part)
    vocabulary = lexer.VOCABULARY
    names = (vocabulary.getLiteralName(n) for n in range(1, vocabulary.getMaxTokenType() + 1))
    words = {name.strip("'") for name in names if name}
    assert {one for one in words if re.fullmatch(r"[A-Z_]+", one)} <= KEYWORDS
    functions = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert {one for one in functions if re.fullmatch(r"\w+", one)} <= FUNCTIONS


@pytest.mark.parametrize("typo", typos(), ids=lambda one: one.name)
def test_spark_says_the_same_of_a_typo(spark: Any, typo: Typo) -> None:
    found = _condition(spark, typo.sql)
    assert found is not None
    assert typo.spark in ("", found)


@pytest.mark.parametrize("sql", _ANSWERED)
def test_what_spark_answers_has_no_error(spark_warehouse: Any, spark: Any, sql: str) -> None:
    assert _condition(spark, sql) is None
    assert told_at_once(spark_warehouse.lake, sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT nope FROM shop.sales",
        "SELECT amount FROM shop.salse",
        "SELECT amount, count(*) FROM shop.sales",
        "SELECT upper() FROM shop.sales",
        "SELECT sume(amount) FROM shop.sales",
        "SELECT amount AS a FROM shop.sales WHERE a = 1",
    ],
)
def test_spark_answers_explain_of_a_mistake_with_the_same_error(
    spark_warehouse: Any, spark: Any, sql: str
) -> None:
    (title,), *lines = spark.sql(f"EXPLAIN {sql}").collect()
    assert title == "Error occurred during query planning: "
    error = told_at_once(spark_warehouse.lake, sql)
    assert error is not None
    assert f"[{error.error_class}]" in lines[0][0]


@pytest.mark.parametrize(
    ("sql", "refused"),
    [
        ("SELECT sum(open) FROM shop.kinds", True),
        ("SELECT avg(day) FROM shop.kinds", True),
        ("SELECT stddev(list) FROM shop.kinds", True),
        ("SELECT var_pop(at) FROM shop.kinds", True),
        ("SELECT amount FROM shop.kinds WHERE day", True),
        ("SELECT amount FROM shop.kinds WHERE 5 < day", True),
        ("SELECT stddev(seen) FROM shop.kinds", True),
        ("SELECT sum(region), stddev(region), sum(seen), avg(seen) FROM shop.kinds", False),
        ("SELECT min(open), max(list), count(at) FROM shop.kinds WHERE open", False),
        ("SELECT day FROM shop.kinds WHERE day = '2026-01-01' AND day < date_add(day, 1)", False),
    ],
)
def test_types_are_refused_that_spark_refuses(
    spark_warehouse: Any, spark: Any, sql: str, refused: bool
) -> None:
    spark.sql(
        "CREATE TABLE IF NOT EXISTS lake.shop.kinds (amount BIGINT, region STRING, day DATE,"
        " open BOOLEAN, seen TIMESTAMP, list ARRAY<INT>, at STRUCT<x: INT>)"
    )
    error = told_at_once(spark_warehouse.lake, sql)
    assert (error is not None) == refused
    assert _condition(spark, sql) == (None if error is None else error.error_class)


@pytest.mark.parametrize("name", sorted(one for names in ARGUMENTS.values() for one in names))
def test_functions_take_as_many_arguments(spark: Any, name: str) -> None:
    """Spark refuses the numbers nearest to those that are listed, and no one that is listed."""
    refused, taken = set[int](), set[int]()
    for number in range(9):
        given = ", ".join(["NULL"] * number)
        fault = misuse(f"SELECT 1, {name}({given})", None)  # type: ignore[arg-type]
        (taken if fault is None else refused).add(number)
    edges = {one for one in refused if {one - 1, one + 1} & taken}
    for number in sorted(edges | (taken if name not in _OF_UNITS else set())):
        sql = f"SELECT 1, {name}({', '.join(['NULL'] * number)})"
        found = _condition(spark, sql) or ""
        assert found.startswith("WRONG_NUM_ARGS") == (number in refused), (sql, found)
    assert edges


@pytest.mark.parametrize("mistake", told_of_spark(), ids=lambda one: one.name)
def test_spark_says_the_same_of_a_mistake(spark: Any, mistake: Mistake) -> None:
    asked = spark.sql
    try:
        asked(mistake.sql).collect()
    except PySparkException as error:
        assert error.getCondition() == mistake.spark
    else:
        pytest.fail("Spark answers it")


@pytest.mark.parametrize("sql", ["", "  ", "-- nothing", ";", ";;", "/* a */"])
def test_spark_says_the_same_of_no_statement(spark: Any, sql: str) -> None:
    fault = syntax_fault(sql)
    assert fault is not None
    assert _condition(spark, sql) == fault.error_class


def test_our_errors_are_sparks_too_where_it_is_loaded(spark: Any) -> None:
    del spark
    with pytest.raises(ParseException) as raised:
        raise_fault(syntax_fault("SELECT a FORM t"))
    assert isinstance(raised.value, StatementError)
    assert raised.value.getCondition() == "PARSE_SYNTAX_ERROR"
    assert "^^^^" in str(raised.value)


def test_a_name_is_sparks_error_too(spark_warehouse: Any, spark: Any) -> None:
    del spark
    error = told_at_once(spark_warehouse.lake, "SELECT regoin FROM shop.sales")
    assert isinstance(error, AnalysisException)
    assert isinstance(error, AcceleratorError)


def _statements() -> list[str]:
    found = [one.text for path in sorted(FOLDER.glob("*.slt")) for one in read(path).blocks]
    for path in sorted(_CORPUS.glob("*.sql")):
        found += [s.strip() for s in re.split(r"^%%.*$", path.read_text(), flags=re.MULTILINE)]
    return [one for one in (*found, *_ANSWERED) if one]


def _mutated(sql: str, tokens: list[Token], rng: random.Random) -> str:
    """One token less, twice, swapped with the next one, or with a letter changed."""
    place = rng.randrange(len(tokens))
    token = tokens[place]
    text = sql[token.start : token.end]
    how = rng.randrange(5)
    if how == 0:
        return sql[: token.start] + sql[token.end :]
    if how == 1:
        return f"{sql[: token.end]} {text}{sql[token.end :]}"
    if how == 2 and place + 1 < len(tokens):
        other = tokens[place + 1]
        between = sql[token.end : other.start] or " "
        swapped = sql[other.start : other.end] + between + text
        return sql[: token.start] + swapped + sql[other.end :]
    letters = list(text)
    at = rng.randrange(len(letters))
    if how == 3 and at + 1 < len(letters):
        letters[at], letters[at + 1] = letters[at + 1], letters[at]
    else:
        letters[at] = ""
    return sql[: token.start] + "".join(letters) + sql[token.end :]


def test_no_syntax_is_refused_that_spark_takes(spark: Any) -> None:
    """Statements with one fault in them: what is told of it, Spark's parser says too."""
    rng, statements = random.Random(28), _statements()
    parser = spark._jsparkSession.sessionState().sqlParser()
    told = 0
    for sql in rng.choices(statements, k=sized(1500, full=20_000)):
        tokens = scanned(sql)
        if not tokens:
            continue
        mutated = _mutated(sql, tokens, rng)
        if syntax_fault(mutated) is None:
            continue
        told += 1
        with pytest.raises(ParseException):
            parser.parsePlan(mutated)
            pytest.fail(f"Spark takes it: {mutated}")
    assert told > 100


def test_no_name_is_refused_that_spark_finds(spark_warehouse: Any, spark: Any) -> None:
    """The same of whole statements over tables.

    The class is Spark's, unless its parser refuses the text before it looks names up.
    """
    rng = random.Random(2028)
    queries = [one for one in _ANSWERED if "shop." in one and one.startswith("SELECT")]
    told = 0
    for sql in rng.choices(queries, k=sized(250, full=3000)):
        mutated = _mutated(sql, scanned(sql) or [], rng)
        error = told_at_once(spark_warehouse.lake, mutated)
        if error is None:
            continue
        told += 1
        found = _condition(spark, mutated)
        assert found in (error.error_class, "PARSE_SYNTAX_ERROR"), (mutated, error)
    assert told > 20
