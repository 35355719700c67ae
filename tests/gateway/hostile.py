"""What a hostile client sends: texts and requests that are meant to end or to occupy a server.

Each is small beside the work that it's meant to cause, or as long as a client may send. None needs
the right to read a table. `STATEMENTS` are texts of SQL for every reader of statements;
`requests` are whole HTTP requests, broken ones among them, with these statements in some.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_MIB = 1024**2


def nested(opening: str, inner: str, closing: str, depth: int) -> str:
    """The text within so many pairs.

    >>> nested("f(", "x", ")", 2)
    'f(f(x))'
    """
    return opening * depth + inner + closing * depth


def _nests() -> Iterator[tuple[str, str]]:
    """Depth: each level is a frame of a stack, or doubles what a parser tries."""
    for depth in (310, 1_500, 40_000):
        yield f"parentheses {depth}", f"SELECT {nested('(', '1', ')', depth)}"
        yield f"open parentheses {depth}", "SELECT " + "(" * depth
        yield f"closing parentheses {depth}", "SELECT 1" + ")" * depth
    openers = ("ROW(", "ARRAY[", "MAP(", "STRUCT(", "DATE (", "DECIMAL(", "JSON(", "TIMESTAMP (")
    for opener in openers:
        closing = "]" if opener.endswith("[") else ")"
        for depth in (24, 40):
            yield f"{opener} {depth}", f"SELECT {nested(opener, '1', closing, depth)}"
    for opener in ("TRY(", "COALESCE(1, ", "IF(true, ", "-(", "NOT (", "x -> (", "ABS(", "CAST("):
        yield f"{opener} 3000", f"SELECT {nested(opener, '1', ')', 3_000)}"
    yield "cast to rows", f"SELECT CAST(NULL AS {nested('ROW(a ', 'int', ')', 40)})"
    yield "cast to arrays", f"SELECT CAST(NULL AS {nested('ARRAY(', 'int', ')', 2_000)})"
    yield "many shallow rows", "SELECT " + ", ".join([nested("ROW(", "1", ")", 8)] * 1_000)
    yield "subqueries", nested("SELECT * FROM (", "SELECT 1 AS a", ")", 2_000)
    yield "subqueries in IN", nested("SELECT 1 WHERE 1 IN (", "SELECT 1", ")", 2_000)
    cases = nested("CASE WHEN true THEN ", "1", " END", 3_000)
    yield "cases", f"SELECT {cases}"
    yield "explained", f"EXPLAIN SELECT {nested('(', '1', ')', 40_000)}"
    yield "described", f"DESCRIBE OUTPUT {nested('(', 'SELECT 1', ')', 40_000)}"
    text = nested("(", "1", ")", 20_000)
    yield "executed", f"EXECUTE IMMEDIATE 'SELECT {text}'"
    yield "cube of nests", f"CREATE CUBE c AS SELECT a, sum({text}) FROM t GROUP BY a"
    yield "comments", "SELECT 1 " + "/*" * 40_000
    yield "brackets", "SELECT " + "[" * 40_000
    yield "braces", "SELECT " + "{" * 40_000
    yield "quotes", 'SELECT "' + '""' * 100_000
    yield "view of nests", f"CREATE VIEW v AS SELECT {nested('(', '1', ')', 40_000)}"


def _chains() -> Iterator[tuple[str, str]]:
    """Width: thousands of siblings, each of which may be compared with all others."""
    for count in (2_000, 8_000):
        items = ", ".join(f"w{n} AS (SELECT {n} AS a)" for n in range(count))
        yield f"items of WITH {count}", f"WITH {items} SELECT a FROM w{count - 1}"
    linked = ", ".join(f"w{n} AS (SELECT a FROM w{n - 1})" for n in range(1, 1_500))
    yield "linked items of WITH", f"WITH w0 AS (SELECT 1 AS a), {linked} SELECT a FROM w1499"
    doubled = ", ".join(
        f"w{n} AS (SELECT x.a FROM w{n - 1} x CROSS JOIN w{n - 1} y)" for n in range(1, 40)
    )
    yield "doubling items of WITH", f"WITH w0 AS (SELECT 1 AS a), {doubled} SELECT a FROM w39"
    yield "list of IN", f"SELECT 1 WHERE 1 IN ({', '.join(map(str, range(100_000)))})"
    words = ", ".join(f"'{n}'" for n in range(60_000))
    yield "list of IN, texts", f"SELECT 1 WHERE 'a' IN ({words})"
    for word, part in (("OR", "1 = 2"), ("AND", "1 = 1"), ("+", "1"), ("||", "'a'"), ("-", "1")):
        yield f"chain of {word}", "SELECT 1 WHERE " + f" {word} ".join([part] * 20_000)
    yield "chain of NOT", "SELECT " + "NOT " * 50_000 + "true"
    yield "unions", " UNION ALL ".join(["SELECT 1"] * 10_000)
    yield "columns", "SELECT " + ", ".join(f"{n} AS a{n}" for n in range(20_000))
    yield "stars", "SELECT " + ", ".join(["*"] * 5_000) + " FROM (VALUES 1) t (a)"
    yield "rows of VALUES", "VALUES " + ", ".join(f"({n}, 'x')" for n in range(40_000))
    yield (
        "joins",
        "SELECT 1 FROM (VALUES 1) t0 "
        + " ".join(f"CROSS JOIN (VALUES 1) t{n}" for n in range(1, 2_000)),
    )
    yield "tables", "SELECT 1 FROM " + ", ".join(f"nothing.t{n}" for n in range(5_000))
    sets = ", ".join(f"a{n}" for n in range(40))
    values = ", ".join(["1"] * 40)
    yield (
        "cube of 40",
        f"SELECT count(*) FROM (VALUES ({values})) t ({sets}) GROUP BY CUBE ({sets})",
    )
    yield "dots", "SELECT " + ".".join(["a"] * 50_000)
    yield "a long name", "SELECT " + "a" * 900_000
    yield "a long number", "SELECT " + "9" * 500_000
    yield "an exponent", "SELECT 1e999999999, 1E-999999999"
    yield "semicolons", ";" * 500_000
    yield "blanks", " " * 900_000
    yield "questions", "SELECT " + ", ".join("?" * 50_000)
    yield (
        "aliases of aliases",
        "SELECT 1 AS a0, " + ", ".join(f"a{n} + a{n} AS a{n + 1}" for n in range(500)),
    )
    yield (
        "windows",
        "SELECT "
        + ", ".join(f"sum(a) OVER (PARTITION BY a ORDER BY a + {n})" for n in range(1_000))
        + " FROM (VALUES 1) t (a)",
    )


def _patterns() -> Iterator[tuple[str, str]]:
    """Patterns on which a matcher that goes back takes exponential or cubic time."""
    tables = "information_schema.tables"
    for name, pattern in (
        ("of letters", "%a" * 40 + "%b"),
        ("of blanks", "%_" * 200 + "%b"),
        ("of percents", "%" * 10_000 + "b"),
        ("of one letter", "%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%e%q"),
    ):
        yield f"LIKE {name}", f"SELECT * FROM {tables} WHERE table_name LIKE '{pattern}'"
        yield f"LIKE {name} of a text", f"SELECT '{'a' * 5_000}' LIKE '{pattern}'"
        yield f"SHOW TABLES {name}", f"SHOW TABLES LIKE '{pattern}'"
        yield f"SHOW FUNCTIONS {name}", f"SHOW FUNCTIONS LIKE '{pattern}'"
    for name, pattern in (
        ("plus", "(a+)+$"),
        ("or", "(a|a)*$"),
        ("star", "(.*)*x"),
        ("back", "(.*)\\1x"),
    ):
        text = "a" * 40 + "b"
        yield f"regexp {name}", f"SELECT regexp_like('{text}', '{pattern}')"
        yield f"regexp_replace {name}", f"SELECT regexp_replace('{text}', '{pattern}', 'x')"
    yield "regexp of repeats", "SELECT regexp_like('a', '((a{1000}){1000}){1000}')"
    yield "SHOW TABLES of an escape", "SHOW TABLES LIKE '" + "$%" * 5_000 + "' ESCAPE '$'"


def _growths() -> Iterator[tuple[str, str]]:
    """A few characters that ask for gigabytes."""
    yield "rpad", "SELECT length(rpad('a', 2000000000, 'b'))"
    yield "lpad", "SELECT lpad('a', 2147483647, 'b')"
    yield "sequence", "SELECT cardinality(sequence(1, 2000000000))"
    yield "replace", "SELECT replace(rpad('a', 100000000, 'a'), 'a', rpad('b', 1000, 'b'))"
    yield "format", "SELECT format('%1000000000d', 1)"
    yield "array", "SELECT repeat(1, 2000000000)"
    yield "date", "SELECT date_add('year', 9223372036854775807, DATE '2020-01-01')"
    yield "decimal", "SELECT CAST('1' AS DECIMAL(1000000000, 999999999))"
    yield "json", f"SELECT json_parse('{nested('[', '1', ']', 50_000)}')"
    yield "json path", f"SELECT json_extract('{{}}', '${'.a' * 20_000}')"


STATEMENTS: Mapping[str, str] = {
    name: text for source in (_nests, _chains, _patterns, _growths) for name, text in source()
}
"""By name. Most are no statement that anybody could answer."""


def _post(text: bytes, headers: Mapping[str, str], path: str = "/v1/statement") -> bytes:
    lines = [f"{name}: {value}" for name, value in headers.items()]
    head = [f"POST {path} HTTP/1.1", *lines, f"Content-Length: {len(text)}", "", ""]
    return "\r\n".join(head).encode("latin-1", "replace") + text


def requests(host: str, user: str, catalog: str = "lake", schema: str = "ssb") -> dict[str, bytes]:
    """Whole requests of that user, by name; each is answered, or its connection ends."""
    plain = {
        "Host": host,
        "User-Agent": "Trino Python Client/hostile",
        "X-Trino-User": user,
        "X-Trino-Catalog": catalog,
        "X-Trino-Schema": schema,
        "X-Trino-Time-Zone": "UTC",
    }
    one = b"SELECT 1"
    found = {name: _post(text.encode()[:_MIB], plain) for name, text in STATEMENTS.items()}
    deep = nested("(", "1", ")", 2_000)
    headers = {
        "zones": {"X-Trino-Time-Zone": "+13:37"},
        "no zone": {"X-Trino-Time-Zone": "Nowhere/" + "a" * 1_000},
        "no catalog": {"X-Trino-Catalog": '"' * 2_000},
        "session": {"X-Trino-Session": ",".join(f"a{n}=b" for n in range(5_000))},
        "session without values": {"X-Trino-Session": "=" * 10_000},
        "roles": {"X-Trino-Role": "system=ROLE{" + "a" * 5_000},
        "tags": {"X-Trino-Client-Tags": "a," * 20_000},
        "prepared": {"X-Trino-Prepared-Statement": "a=" + deep.replace("(", "%28")},
        "a broken escape": {"X-Trino-Prepared-Statement": "a=%zz%"},
        "a long header": {"X-Trino-Client-Info": "a" * 300_000},
        "many headers": {f"X-Trino-Extra-{n}": "a" for n in range(2_000)},
        "a trace": {"traceparent": "00-" + "f" * 5_000},
        "no password": {"Authorization": "Basic " + "A" * 10_000},
        "another user": {"X-Trino-Original-User": "root", "X-Trino-User": "root\t"},
        "a strange encoding": {"Content-Encoding": "gzip"},
        "a strange length": {"Expect": "200-nothing"},
    }
    found |= {f"header: {name}": _post(one, plain | more) for name, more in headers.items()}
    long = b"SELECT '" + b"a" * (3 * _MIB) + b"'"
    found |= {
        "body: too long": _post(long, plain),
        "body: no text": _post(bytes(range(256)) * 16, plain),
        "body: half a character": _post("SELECT 'ü".encode()[:-1], plain),
        "body: empty": _post(b"", plain),
        "body: zeros": _post(b"\0" * 10_000, plain),
        "body: to the API": _post(b"[" * 100_000, plain, "/v1/query"),
        "body: nested JSON": _post(
            b'{"sql":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
            plain | {"Content-Type": "application/json"},
            "/v1/query",
        ),
        "line: no method": b"\0\1\2 /v1/statement HTTP/1.1\r\n\r\n",
        "line: too long": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        "line: no version": b"POST /v1/statement\r\n\r\n",
        "length: negative": b"POST /v1/statement HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "length: two": b"POST /v1/statement HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
        b"Content-Length: 2\r\n\r\nab",
        "chunks: no number": b"POST /v1/statement HTTP/1.1\r\nHost: a\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "page: of nobody": f"GET /v1/statement/executing/a/b/{'9' * 4_000} HTTP/1.1\r\n"
        f"Host: {host}\r\n\r\n".encode(),
    }
    return found
