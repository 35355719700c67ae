"""A random star with relate columns of every form of path, random statements over it, and changes.

The fact `f` has keys of `a` (twice, by `ak` and `ak2`), `b` (a text), `c` (a date) and `e` (two
columns); `o` is the outer dimension of `a`. Keys are NULL, dangle, stand often; attributes are
NULL. All that is random comes of one `random.Random`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from accelerator.session.session import Accelerator
from fuzz.values import literal
from tests.spark.conftest import SparkWarehouse

SMALL_GROUPS = (
    "'write.parquet.row-group-size-bytes'='1024',"
    "'write.parquet.row-group-check-min-record-count'='25',"
    "'write.parquet.row-group-check-max-record-count'='25'"
)
_DAY = date(2020, 1, 1)
_TABLES = {
    "f": "ak INT, ak2 INT, bk STRING, ck DATE, ep INT, eq STRING, v INT, m DECIMAL(10,2), g STRING",
    "a": "k INT, name STRING, n INT, x DOUBLE, ok INT",
    "b": "code STRING, label STRING, amount DECIMAL(8,2)",
    "c": "d DATE, month STRING, holiday BOOLEAN",
    "e": "p INT, q STRING, tag STRING",
    "o": "ok INT, land STRING, since DATE",
}
_JOINS = {
    "a": "{f}.ak = {a}.k",
    "a2": "{f}.ak2 = {a2}.k",
    "b": "{f}.bk = {b}.code",
    "c": "{c}.d = {f}.ck",
    "e": "{f}.ep = {e}.p AND {e}.q = {f}.eq",
    "o": "{a}.ok = {o}.ok",
}
RELATES = {
    "a_name": ("a", "a.name", "f.ak = a.k"),
    "a_n": ("a", "a.n", "f.ak = a.k"),
    "a_x": ("a", "a.x", "f.ak = a.k"),
    "a2_name": ("a", "a.name", "f.ak2 = a.k"),
    "b_label": ("b", "b.label", "f.bk = b.code"),
    "b_amount": ("b", "b.amount", "f.bk = b.code"),
    "c_month": ("c", "c.month", "f.ck = c.d"),
    "c_holiday": ("c", "c.holiday", "f.ck = c.d"),
    "e_tag": ("e", "e.tag", "f.ep = e.p AND f.eq = e.q"),
    "o_land": ("o", "o.land", "f.ak = a.k AND a.ok = o.ok"),
    "o_since": ("o", "o.since", "f.ak = a.k AND a.ok = o.ok"),
}
_KINDS = {
    "a_name": ("BITMAP", "BLOOM", "NGRAM_BLOOM", "BOUNDS"),
    "a_n": ("BITMAP", "BLOOM", "BOUNDS", "RANGE"),
    "a_x": ("BITMAP", "BOUNDS"),
    "a2_name": ("BITMAP", "BOUNDS"),
    "b_label": ("BITMAP", "BLOOM", "NGRAM_BLOOM", "BOUNDS"),
    "b_amount": ("BITMAP", "BOUNDS", "RANGE"),
    "c_month": ("BITMAP", "BLOOM", "BOUNDS"),
    "c_holiday": ("BITMAP", "BOUNDS"),
    "e_tag": ("BITMAP", "BLOOM"),
    "o_land": ("BITMAP", "BLOOM", "BOUNDS"),
    "o_since": ("BITMAP", "BOUNDS", "RANGE"),
}
_OPTIONS = {"BITMAP": ("", " WITH (rows = true)", " WITH (rows = false, block_rows = 64)")}


@dataclass
class World:
    """The tables, and what is in the dimensions, as far as statements need it for constants."""

    wh: SparkWarehouse
    acc: Accelerator
    r: Random
    names: dict[str, str] = field(default_factory=dict)
    snapshots: dict[str, list[int]] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    fresh: int = 0

    # --- making it

    def make(self, *, files: int = 5, rows: int = 120) -> None:
        """Tables, rows, relate columns, and some indexes on each, built in one pass."""
        r = self.r
        clauses = r.choice(
            ("", "", "PARTITIONED BY (ak)", "PARTITIONED BY (bk)", "PARTITIONED BY (ck)")
        )
        for short, columns in _TABLES.items():
            self.names[short] = "lake.d." + self.wh.table(
                columns,
                version=r.choice((2, 3)),
                clauses=clauses if short == "f" else "",
                properties=SMALL_GROUPS,
            )
            self.columns[short] = {c.split()[0]: c.split()[0] for c in columns.split(", ")}
        self._fill()
        for number in range(2 if clauses else files):
            self.append(number, rows)
        for name, (_, source, on) in RELATES.items():
            self.acc.execute(
                self.text(f"ALTER TABLE {{f}} ADD RELATE COLUMN {source.split('.')[1]} FROM")
                + f" {self._full(source)} ON {self._full(on)} AS {name}"
            )
        for name, kinds in _KINDS.items():
            for kind in r.sample(kinds, r.choice((1, 1, 2))):
                options = r.choice(_OPTIONS.get(kind, ("",)))
                self.index(f"{name}_{kind}", name, kind, options)
        for column, kind in (("ak", "BITMAP"), ("ak2", "BLOOM"), ("bk", "BLOOM"), ("ep", "BITMAP")):
            if r.random() < 0.5:
                self.index(f"key_{column}", column, kind)
        self.build()

    def index(self, name: str, column: str, kind: str, options: str = "") -> None:
        self.acc.execute(
            self.text(f"CREATE INDEX {name} ON {{f}} USING {kind} ({column}){options} DEFERRED")
        )

    def build(self) -> dict[str, int]:
        """Files that each index's build has read anew."""
        told = self.acc.execute(self.text("BUILD ALL ON {f}")).to_pylist()
        return {row["cube"]: row["files"] for row in told}

    def text(self, sql: str) -> str:
        """With the tables' names for `{f}`, `{a}` …"""
        return sql.format(**self.names)

    def _full(self, on: str) -> str:
        """`f.ak = a.k` with the tables' full names."""
        words = on.split(" ")
        return " ".join(
            f"{self.names[w.split('.')[0]]}.{w.split('.')[1]}" if "." in w else w for w in words
        )

    def sql(self, sql: str) -> None:
        self.wh.sql(self.text(sql))

    def _fill(self) -> None:
        r = self.r
        self.keys = {
            "a": list(range(40)),
            "b": [f"c{i:02}" for i in range(24)],
            "c": [_DAY + timedelta(i) for i in range(60)],
            "e": [(i // 5, f"q{i % 5}") for i in range(25)],
            "o": list(range(6)),
        }
        for short, keys in self.keys.items():
            rows = [self.row(short, key) for key in keys]
            if r.random() < 0.5:  # a key that is NULL is no key, as often as it stands
                rows += [self.row(short, None if short != "e" else (1, None)) for _ in range(2)]
            self.insert(short, rows)

    def row(self, short: str, key: Any) -> tuple[Any, ...]:
        """A row of a dimension, whose attributes go with its key mostly."""
        r = self.r

        def some(value: Any) -> Any:
            return None if r.random() < 0.12 else value

        if short == "a":
            i = key or 0
            return key, some(f"n{i // 8}x"), some(i // 4), some(i / 8), some(i // 7)
        if short == "b":
            i = int(key[1:]) if key else 0
            return key, some(f"label {i // 4}"), some(Decimal(i) / 4)
        if short == "c":
            return key, some(f"{key:%Y-%m}" if key else "none"), some(bool(key and key.day < 15))
        if short == "e":
            return (*key, some(f"t{key[0]}"))
        return key, some(f"land{(key or 0) // 2}"), some(_DAY + timedelta((key or 0) * 30))

    def insert(self, short: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            listed = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
            self.sql(f"INSERT INTO {{{short}}} SELECT /*+ COALESCE(1) */ * FROM VALUES {listed}")
            self._told(short)

    def append(self, number: int, rows: int) -> None:
        """A file (or one for each partition) of facts; its keys are near each other, mostly."""
        r = self.r
        first, spread = r.random(), r.choice((0.05, 0.2, 1.0))
        skew = r.random() < 0.3

        def key(short: str, dangling: Any) -> Any:
            keys = self.keys[short]
            chance = r.random()
            if chance < 0.06:
                return None
            if chance < 0.1:
                return dangling
            place = first + spread * (0 if skew and chance < 0.7 else r.random())
            return keys[int(place * len(keys)) % len(keys)]

        made = []
        for i in range(rows):
            pair = key("e", (99, "q1")) or r.choice(((None, "q1"), (1, None)))
            made.append(
                (
                    key("a", 1000),
                    key("a", -5),
                    key("b", "zzz"),
                    key("c", date(1999, 1, 1)),
                    *pair,
                    r.choice((None, number * 10 + i % 10)),
                    r.choice((None, Decimal(i) / 4)),
                    r.choice((None, "g0", "g1")),
                )
            )
        self.insert("f", made + made[:5])

    def _told(self, short: str) -> None:
        found = self.wh.sql(
            self.text(f"SELECT snapshot_id FROM {{{short}}}.refs WHERE name = 'main'")
        )
        if found:
            self.snapshots.setdefault(short, []).append(found[0][0])

    # --- asking

    def query(self, *, travel: bool = False) -> str:
        """A random statement over the fact and one to three dimensions."""
        r = self.r
        chosen = r.sample(("a", "a2", "b", "c", "e"), r.choice((1, 1, 2, 3)))
        if "a" in chosen and r.random() < 0.5:
            chosen.append("o")
        aliases = {short: f"t_{short}" if r.random() < 0.5 else short for short in ("f", *chosen)}
        comma = r.random() < 0.25
        froms, where = [f"{self._state('f', travel)} {aliases['f']}"], []
        padded: set[str] = set()
        for short in sorted(chosen, key=lambda s: (s == "o", r.random())):
            table = f"{self._state(short[0], travel)} {aliases[short]}"
            on = self._renamed(_JOINS[short]).format(**aliases)
            if comma and not padded:
                froms[-1] += f", {table}"
                where.append(on)
                continue
            kind = r.choice(("JOIN", "JOIN", "INNER JOIN", "LEFT JOIN"))
            if kind == "LEFT JOIN":
                padded.add(short)
            if r.random() < (0.4 if kind == "LEFT JOIN" else 0.2):
                on += f" AND {self._leaf(r.choice((short, 'f')), aliases)}"
            froms.append(f"{kind} {table} ON {on}")
        trees = (self._tree(["f", *chosen], aliases, 2) for _ in range(r.choice((1, 1, 2))))
        where += [tree for tree in trees if r.random() < 0.95]
        said = f" WHERE {' AND '.join(f'({w})' for w in where)}" if where else ""
        groups = [
            self._column(short, aliases)[0]
            for short in r.sample(("f", *chosen), r.choice((0, 0, 1)))
        ]
        items = r.sample(
            (
                "count(*) AS n",
                f"sum({aliases['f']}.v) AS s",
                f"max({aliases['f']}.m) AS x",
                f"count(DISTINCT {aliases['f']}.g) AS u",
                f"avg({aliases['f']}.v) AS w",
            ),
            2,
        )
        tail = f" GROUP BY {', '.join(groups)}" if groups else ""
        return f"SELECT {', '.join([*groups, *items])} FROM {' '.join(froms)}{said}{tail}"

    def _state(self, short: str, travel: bool) -> str:
        known = self.snapshots.get(short, [])
        if travel and known and self.r.random() < 0.3:
            return f"{self.names[short]} VERSION AS OF {self.r.choice(known)}"
        return self.names[short]

    def _renamed(self, on: str) -> str:
        """A join's text, with columns as they're called now."""
        for short, names in self.columns.items():
            for old, new in names.items():
                for alias in ("a", "a2") if short == "a" else (short,):
                    on = on.replace(f"{{{alias}}}.{old} ", f"{{{alias}}}.{new} ")
                    if on.endswith(f"{{{alias}}}.{old}"):
                        on = on.removesuffix(old) + new
        return on

    def _column(self, short: str, aliases: dict[str, str]) -> tuple[str, list[Any]]:
        """A column of it, and constants for it."""
        r = self.r
        pools: dict[str, list[Any]] = {
            "ak": [0, 7, 20, 39, 1000],
            "v": [3, 11, 25, 48],
            "g": ["g0", "g1", "g2"],
            "m": [Decimal("1.25"), Decimal(20)],
            "k": [0, 7, 20, 39],
            "name": ["n0x", "n1x", "n2x", "n4x", "other"],
            "n": [0, 2, 5, 9, 12],
            "x": [0.125, 1.0, 3.5, 9.0],
            "code": ["c00", "c11", "c23"],
            "label": ["label 0", "label 2", "label 5", "none"],
            "amount": [Decimal("0.25"), Decimal("2.50"), Decimal(5)],
            "d": [_DAY, _DAY + timedelta(30)],
            "month": ["2020-01", "2020-02", "2020-03"],
            "holiday": [True, False],
            "p": [0, 3],
            "tag": ["t0", "t1", "t4"],
            "land": ["land0", "land1", "land2"],
            "since": [_DAY, _DAY + timedelta(60), _DAY + timedelta(150)],
        }
        names = self.columns[short[0]]
        old = r.choice([c for c in names if c in pools])
        return f"{aliases[short]}.{names[old]}", pools[old]

    def _leaf(self, short: str, aliases: dict[str, str]) -> str:
        r = self.r
        column, pool = self._column(short, aliases)
        values = [literal(v) for v in pool]
        one, other = r.choice(values), r.choice(values)
        forms: list[str] = [
            f"{column} = {one}",
            f"{column} = {one}",
            f"{one} = {column}",
            f"{column} IN ({one}, {other})",
            f"{column} < {one}",
            f"{column} >= {one}",
            f"{column} BETWEEN {one} AND {other}",
            f"{column} IS NULL",
            f"{column} IS NOT NULL",
            f"{column} <> {one}",
            f"NOT ({column} = {one})",
            f"{column} <=> {one}",
            f"coalesce({column}, {other}) = {one}",
            f"{column} NOT IN ({one}, {other})",
        ]
        if isinstance(pool[0], str):
            text = str(r.choice(pool))
            forms += [f"{column} LIKE '{text[:-1]}%'", f"{column} LIKE '%{text[-3:]}%'"]
        return r.choice(forms)

    def _tree(self, shorts: Sequence[str], aliases: dict[str, str], depth: int) -> str:
        r = self.r
        shape = r.random()
        if not depth or shape < 0.45:
            # Of the dimensions more often than of the fact.
            return self._leaf(r.choice([*shorts, *shorts[1:]]), aliases)
        if shape < 0.52:
            return f"NOT ({self._tree(shorts, aliases, depth - 1)})"
        word = " OR " if shape < 0.8 else " AND "
        return word.join(f"({self._tree(shorts, aliases, depth - 1)})" for _ in range(2))

    # --- changing it

    def change(self) -> str:
        """A random change of a table; returns what it was."""
        changes: list[Callable[[], str]] = [
            self._append,
            self._delete,
            self._update_dimension,
            self._update_dimension,
            self._delete_dimension,
            self._insert_dimension,
            self._double_key,
            self._rename,
            self._drop_column,
            self._rollback,
            self._move_key,
            self._compact,
        ]
        return self.r.choice(changes)()

    def _append(self) -> str:
        self.append(9, 60)
        return "append"

    def _delete(self) -> str:
        name = self.columns["f"]["v"]
        self.sql(f"DELETE FROM {{f}} WHERE {name} % 3 = {self.r.randrange(3)}")
        self._told("f")
        return "delete"

    def _update_dimension(self) -> str:
        short = self.r.choice(("a", "a", "b", "c", "e", "o"))
        key, attribute, values = {
            "a": ("k", "name", ["n0x", "n4x", "other", None]),
            "b": ("code", "label", ["label 0", "none", None]),
            "c": ("d", "month", ["2020-01", "2020-03", None]),
            "e": ("p", "tag", ["t0", "t4", None]),
            "o": ("ok", "land", ["land0", "land2", None]),
        }[short]
        names = self.columns[short]
        if attribute not in names:
            return self._append()
        one = self.r.choice(self.keys[short])
        wanted = literal(one[0] if short == "e" else one)
        self.sql(
            f"UPDATE {{{short}}} SET {names[attribute]} = {literal(self.r.choice(values))}"
            f" WHERE {names[key]} {self.r.choice(('=', '=', '<'))} {wanted}"
        )
        self._told(short)
        return f"update {short}"

    def _move_key(self) -> str:
        """Another row of the dimension has the key from now on."""
        one = self.r.randrange(20)
        key = self.columns["a"]["k"]
        self.sql(f"DELETE FROM {{a}} WHERE {key} = {one + 20}")
        self.sql(f"UPDATE {{a}} SET {key} = {one + 20} WHERE {key} = {one}")
        self._told("a")
        return "move a key"

    def _delete_dimension(self) -> str:
        short = self.r.choice(("a", "b", "o"))
        key = self.columns[short][{"a": "k", "b": "code", "o": "ok"}[short]]
        self.sql(
            f"DELETE FROM {{{short}}} WHERE {key} = {literal(self.r.choice(self.keys[short]))}"
        )
        self._told(short)
        return f"delete of {short}"

    def _insert_dimension(self) -> str:
        """A key that facts had without a partner finds one."""
        if len(self.columns["a"]) < len(_TABLES["a"].split(", ")):
            return self._append()
        self.sql("DELETE FROM {a} WHERE " + self.columns["a"]["k"] + " IN (1000, -5)")
        self.insert("a", [self.row("a", 1000), self.row("a", -5), self.row("a", 2000 + self.fresh)])
        self.fresh += 1
        return "insert into a"

    def _double_key(self) -> str:
        """A key that stands twice."""
        short = self.r.choice(("a", "b", "o"))
        if len(self.columns[short]) < len(_TABLES[short].split(", ")):
            return self._append()
        rows = [self.row(short, self.r.choice(self.keys[short])) for _ in range(1)]
        self.insert(short, rows)
        return f"double key of {short}"

    def _rename(self) -> str:
        short = self.r.choice(("f", "a", "b", "o"))
        old = self.r.choice(sorted(self.columns[short]))
        self.fresh += 1
        new = f"r{self.fresh}_{old}"
        self.sql(f"ALTER TABLE {{{short}}} RENAME COLUMN {self.columns[short][old]} TO {new}")
        self.columns[short][old] = new
        self.snapshots.pop(short, None)  # older states have older names
        return f"rename {short}.{old}"

    def _drop_column(self) -> str:
        """An attribute goes, and one of its name comes, which is another."""
        short, column, type_ = self.r.choice(
            (("a", "name", "STRING"), ("b", "amount", "DECIMAL(8,2)"), ("o", "land", "STRING"))
        )
        if column not in self.columns[short]:
            return self._append()
        now = self.columns[short][column]
        self.sql(f"ALTER TABLE {{{short}}} DROP COLUMN {now}")
        self.sql(f"ALTER TABLE {{{short}}} ADD COLUMN {now} {type_}")
        self.snapshots.pop(short, None)
        return f"drop and add {short}.{column}"

    def _rollback(self) -> str:
        short = self.r.choice(("f", "a", "b"))
        known = self.snapshots.get(short, [])
        if len(known) < 2:
            return self._append()
        to = known[-2]
        name = self.names[short].removeprefix("lake.")
        self.wh.sql(
            f"CALL lake.system.set_current_snapshot(table => '{name}', snapshot_id => {to})"
        )
        return f"rollback of {short}"

    def _compact(self) -> str:
        name = self.names["f"].removeprefix("lake.")
        self.wh.sql(
            f"CALL lake.system.rewrite_data_files(table => '{name}',"
            " options => map('rewrite-all', 'true'))"
        )
        return "compaction"
