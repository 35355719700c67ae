"""Views stand in the text as their SELECTs, where these have the columns that the views have."""

from __future__ import annotations

import pytest
from sqlglot import exp

import rewrite.rules.inline_views
from rewrite.facts import At, ColumnFacts, Facts, TableFacts, ViewFacts
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.rules.inline_views import inlined, qualified

_COLUMNS = (("g", "string"), ("v", "int"), ("d", "date"))
_ALL = "SELECT * FROM t WHERE v > 1"


class _Tables(Facts):
    def table(self, parts, at):
        if parts not in (("lake", "db", "t"), ("lake", "db", "u")) or at != At():
            return None
        own = tuple(ColumnFacts(i, n, t, False) for i, (n, t) in enumerate(_COLUMNS))
        return TableFacts(".".join(parts), parts[-1], 1, 0, own)


def _inlined(sql: str, **views: tuple[str, tuple[tuple[str, str], ...]]) -> str | None:
    """Views of `lake.db`, which are named by their bare name or by the full one."""

    def view(parts):
        found = views.get(parts[-1]) if parts in ((parts[-1],), ("lake", "db", parts[-1])) else None
        if found is None:
            return None
        full = ("lake", "db", parts[-1])
        return ViewFacts(full, found[0], found[1], "lake", ("db",), frozenset({"lake", "other"}))

    return inlined(sql, parse(sql), view, _Tables(), "UTC")


def test_nothing_without_a_view() -> None:
    assert _inlined("SELECT g FROM t") is None
    for text in (
        "WITH w AS (SELECT 1 AS g) SELECT g FROM w",
        "WITH RECURSIVE w AS (SELECT 1 AS g UNION ALL SELECT g + 1 FROM w WHERE g < 3)"
        " SELECT g FROM w",
    ):
        assert _inlined(text, w=(_ALL, _COLUMNS)) is None


@pytest.mark.parametrize(
    ("sql", "select", "columns", "wanted"),
    [
        (
            "SELECT sum(s) FROM w WHERE g = 'a'",
            "SELECT g, sum(v) AS s FROM t GROUP BY g",
            (("g", "string"), ("s", "bigint")),
            "SELECT sum(s) FROM (SELECT g, sum(v) AS s FROM `lake`.`db`.`t` GROUP BY g\n) AS `w`"
            " WHERE g = 'a'",
        ),
        (
            "SELECT x.h FROM lake.db.w x, `w` AS y",
            "SELECT `t`.g FROM db.`t`",
            (("h", "string"),),
            "SELECT x.h FROM (SELECT `g` AS `h` FROM (SELECT `t`.g FROM `lake`.`db`.`t`\n) AS"
            " acc_view\n) x, (SELECT `g` AS `h` FROM (SELECT `t`.g FROM `lake`.`db`.`t`\n) AS"
            " acc_view\n) AS y",
        ),
        (
            "SELECT g FROM w",
            _ALL,
            _COLUMNS,
            "SELECT g FROM (SELECT `t`.`g` AS `g`, `t`.`v` AS `v`, `t`.`d` AS `d` FROM"
            " `lake`.`db`.`t` WHERE v > 1\n) AS `w`",
        ),
        (
            "SELECT g FROM w",
            "SELECT /* * */ DB . `t` . * FROM db.t",
            _COLUMNS,
            "SELECT g FROM (SELECT /* * */ `t`.`g` AS `g`, `t`.`v` AS `v`, `t`.`d` AS `d` FROM"
            " `lake`.`db`.`t`\n) AS `w`",
        ),
        (
            "SELECT v FROM w",
            "SELECT * FROM t",
            (("g", "string"), ("v", "int")),  # made before t had d
            "SELECT v FROM (SELECT `g` AS `g`, `v` AS `v` FROM (SELECT `t`.`g` AS `g`, `t`.`v` AS"
            " `v`, `t`.`d` AS `d` FROM `lake`.`db`.`t`\n) AS acc_view\n) AS `w`",
        ),
        (
            "SELECT a FROM w",
            "WITH x AS (SELECT g AS a FROM t), t AS (SELECT a FROM x) SELECT a FROM t",
            (("a", "string"),),
            "SELECT a FROM (WITH x AS (SELECT g AS a FROM `lake`.`db`.`t`), t AS (SELECT a FROM x)"
            " SELECT a FROM t\n) AS `w`",
        ),
    ],
)
def test_what_stands_in_its_place(sql, select, columns, wanted) -> None:
    assert _inlined(sql, w=(select, columns)) == wanted


def test_a_view_over_a_view() -> None:
    inner = ("SELECT g AS a FROM t", (("a", "string"),))
    found = _inlined("SELECT a FROM w", w=("SELECT a FROM v", (("a", "string"),)), v=inner)
    assert found == (
        "SELECT a FROM (SELECT a FROM (SELECT g AS a FROM `lake`.`db`.`t`\n) AS `v`\n) AS `w`"
    )


def test_views_over_views_without_end() -> None:
    """Spark makes none; a catalog's may be written by others."""
    with pytest.raises(DeclinedError, match="too many"):
        _inlined("SELECT g FROM w", w=("SELECT g FROM w", (("g", "string"),)))


@pytest.mark.parametrize(
    ("sql", "select", "columns"),
    [
        ("SELECT db.w.g FROM w", _ALL, _COLUMNS),
        ("SELECT a FROM w AS x (a, b, c)", _ALL, _COLUMNS),
        ("SELECT g FROM w", "SELECT g FROM t UNION ALL SELECT g FROM t", (("g", "string"),)),
        ("SELECT g FROM w", "SELECT v FROM t", (("g", "string"),)),
        ("SELECT g FROM w", "SELECT g, v FROM t", (("g", "string"),)),
        ("SELECT g FROM w", "SELECT g FROM t", (("g", "string"), ("v", "int"))),
        ("SELECT g FROM w", "SELECT * FROM t", (*_COLUMNS, ("e", "int"))),
        ("SELECT g FROM w", "SELECT g, g FROM t", (("g", "string"), ("h", "string"))),
        ("SELECT g FROM w", "SELECT my_function(g) AS g FROM t", (("g", "string"),)),
        ("SELECT g FROM w", "SELECT g FROM range(3) r, t", (("g", "string"),)),
        ("SELECT g FROM w", "SELECT *, 1 AS one FROM t", (*_COLUMNS, ("one", "int"))),
        ("SELECT g FROM w", "SELECT g FROM t LIMIT 1 + 2", (("g", "string"),)),
        ("SELECT g FROM w", "SELECT g FROM gone", (("g", "string"),)),
    ],
)
def test_what_is_left_to_spark(sql, select, columns) -> None:
    with pytest.raises(DeclinedError):
        _inlined(sql, w=(select, columns))


_QUALIFIED = (
    "SELECT g FROM t",
    "FROM t SELECT t.g, upper(g) AS h",
    "SELECT * FROM `t`, DB . u WHERE t.v > abs(u.v)",
    "WITH t AS (SELECT g, count(*) AS n FROM db.t GROUP BY g) SELECT t.*, u.v FROM t JOIN u",
    "SELECT /* t */ x.g, trunc(x.d, 'WEEK') FROM t AS x JOIN (SELECT max(v) v FROM u) y USING (v)",
    "SELECT g FROM t VERSION AS OF 1 WHERE v IN (SELECT v FROM other.db.u) OR d = DATE '2020-1-1'",
    "SELECT g FROM (SELECT g FROM t UNION SELECT cast(v AS string) FROM u) q, t",
    "SELECT g FROM nested.space.t WHERE v::bigint > 1",
)


@pytest.mark.parametrize("namespace", [("db",), ("a b", "c`d")])
@pytest.mark.parametrize("sql", _QUALIFIED)
def test_a_tree_with_full_names_is_that_of_the_text_with_full_names(sql, namespace) -> None:
    view = ViewFacts(("lake", "w"), sql, _COLUMNS, "lake", namespace, frozenset({"lake", "other"}))
    text, tree = qualified(view)
    again = parse(text)
    assert "lake" in text and text != sql
    assert tree == again
    assert _places(tree) == _places(again)


def _places(tree: exp.Expression) -> list[str]:
    keys = ("start", "end", "written", "unit", "said")
    return sorted(
        f"{node.sql('spark')}: {type(node)} {[node.meta_get(key) for key in keys]}"
        for node in tree.walk()
    )


@pytest.mark.parametrize(
    ("views", "parses"),
    [
        ({"w": (_ALL, _COLUMNS)}, 1),
        ({"w": ("SELECT a FROM v", (("a", "string"),))}, 3),  # with a view in it
    ],
)
def test_a_view_is_parsed_once(views, parses, monkeypatch) -> None:
    """A long text takes a second to parse."""
    texts: list[str] = []

    def counted(sql: str):
        texts.append(sql)
        return parse(sql)

    monkeypatch.setattr(rewrite.rules.inline_views, "parse", counted)
    inner = ("SELECT g AS a FROM t", (("a", "string"),))
    assert _inlined("SELECT x.* FROM w x JOIN w y", v=inner, **views) is not None
    assert len(texts) == parses, texts
