"""The four SSB cubes, one a flight, and the constraints of the schema.

The cubes are honest ones: no WHERE, every attribute that the flight's queries use, no literal of
a query. Dimensions are written in the order the rows get sorted by: what filters narrow down most
comes first, wide attributes that are only grouped by come last.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.ssb.queries import NAMESPACE

_JOINS = {
    "dates": "lo_orderdate = d_datekey",
    "customer": "lo_custkey = c_custkey",
    "supplier": "lo_suppkey = s_suppkey",
    "part": "lo_partkey = p_partkey",
}


@dataclass(frozen=True, slots=True)
class Cube:
    """A cube's name and what it is made of; `create` and `select` are its SQL."""

    name: str
    dimensions: tuple[str, ...]
    measure: str
    tables: tuple[str, ...]

    def select(self, namespace: str = NAMESPACE) -> str:
        """The defining statement, which is also what a build is measured against."""
        joins = "".join(f"\nJOIN {namespace}.{table} ON {_JOINS[table]}" for table in self.tables)
        dimensions = ", ".join(self.dimensions)
        return (
            f"SELECT {dimensions}, {self.measure}\n"
            f"FROM {namespace}.lineorder{joins}\nGROUP BY {dimensions}"
        )

    def create(self, namespace: str = NAMESPACE) -> str:
        """The statement that registers and builds it."""
        return f"CREATE CUBE {self.name} AS {self.select(namespace)}"


CUBES: tuple[Cube, ...] = (
    Cube(
        "ssb_discounts",
        ("d_year", "d_yearmonthnum", "d_weeknuminyear", "lo_discount", "lo_quantity"),
        "sum(lo_extendedprice * lo_discount) AS discounted",
        ("dates",),
    ),
    Cube(
        "ssb_brands",
        ("s_region", "p_category", "p_brand1", "d_year"),
        "sum(lo_revenue) AS revenue",
        ("dates", "part", "supplier"),
    ),
    Cube(
        "ssb_cities",
        (
            "c_region",
            "s_region",
            "c_nation",
            "s_nation",
            "c_city",
            "s_city",
            "d_year",
            "d_yearmonth",
        ),
        "sum(lo_revenue) AS revenue",
        ("customer", "supplier", "dates"),
    ),
    Cube(
        "ssb_profits",
        (
            "c_region",
            "s_region",
            "s_nation",
            "p_mfgr",
            "p_category",
            "d_year",
            "c_nation",
            "s_city",
            "p_brand1",
        ),
        "sum(lo_revenue - lo_supplycost) AS profit",
        ("dates", "customer", "supplier", "part"),
    ),
)

_KEYS = {
    "dates": "d_datekey",
    "customer": "c_custkey",
    "supplier": "s_suppkey",
    "part": "p_partkey",
}


def constraints(namespace: str = NAMESPACE) -> list[tuple[str, str, str]]:
    """(table, constraint, statement) of the schema's keys, primary keys first."""
    found = []
    for table, key in _KEYS.items():
        name = f"{table}_pk"
        sql = f"ADD CONSTRAINT {name} PRIMARY KEY ({key}) NOT ENFORCED"
        found.append((table, name, f"ALTER TABLE {namespace}.{table} {sql}"))
    for table, condition in _JOINS.items():
        name, column = f"lineorder_{table}", condition.split(" = ")[0]
        sql = (
            f"ADD CONSTRAINT {name} FOREIGN KEY ({column}) "
            f"REFERENCES {namespace}.{table} ({_KEYS[table]}) NOT ENFORCED"
        )
        found.append(("lineorder", name, f"ALTER TABLE {namespace}.lineorder {sql}"))
    return found
