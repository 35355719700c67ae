"""A fact of ten files, each with keys of its own, and the dimension of its relate columns."""

from __future__ import annotations

from accelerator.common.statement_metrics import Metrics
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential
from tests.spark.relate_world import SMALL_GROUPS

FILES = 10
_KEYS = 10  # of each file


class Shop:
    """A fact `f`, whose file i has the keys 10 i to 10 i + 9, and the dimension `d` of its keys.

    The fact stays the larger table, deletes of the dimension included: the largest is the one cut.
    """

    def __init__(self, wh: SparkWarehouse, acc: Accelerator, kinds: str = "BITMAP") -> None:
        self.wh, self.acc = wh, acc
        self.f = f"lake.d.{wh.table('k INT, v INT', properties=SMALL_GROUPS)}"
        self.d = f"lake.d.{wh.table('k INT, name STRING, n INT')}"
        wh.sql(
            f"INSERT INTO {self.d} SELECT CAST(id AS INT), concat('n', id DIV {_KEYS}),"
            f" CAST(id AS INT) FROM range({FILES * _KEYS})"
        )
        for number in range(FILES):
            self.append(number)
        for name in ("name", "n"):
            acc.execute(
                f"ALTER TABLE {self.f} ADD RELATE COLUMN {name} FROM {self.d}.{name}"
                f" ON {self.f}.k = {self.d}.k"
            )
        for kind in kinds.split():
            acc.execute(f"CREATE INDEX {kind} ON {self.f} USING {kind} (name)")

    def append(self, number: int) -> None:
        self.wh.sql(
            f"INSERT INTO {self.f} SELECT /*+ COALESCE(1) */ CAST({number * _KEYS} + id % {_KEYS}"
            f" AS INT), CAST(id AS INT) FROM range(500)"
        )

    def sql(self, text: str) -> None:
        self.wh.sql(text.format(f=self.f, d=self.d))

    def query(self, where: str, d: str = "") -> str:
        return (
            f"SELECT count(*) AS n, sum(v) AS s FROM {self.f} f JOIN {self.d} {d} d ON f.k = d.k"
            f" WHERE {where}"
        )

    def ask(self, where: str, d: str = "", *, failures: bool = False) -> Metrics:
        """Equal to plain Spark; nothing fails inside."""
        query = self.query(where, d)
        Differential(self.acc).check([query], rewritten=None, where=where)
        metrics = self.acc.query(query).metrics
        assert failures or not self.acc.fallbacks.get("planning_failed"), self.acc.fallbacks
        return metrics

    def read(self, where: str, d: str = "") -> int:
        """Files of the fact that are read."""
        metrics = self.ask(where, d)
        return metrics.files_read if metrics.rewritten else FILES

    def build(self, name: str = "BITMAP") -> int:
        """Files that were indexed anew."""
        return int(self.acc.execute(f"BUILD INDEX {name}").to_pylist()[0]["files"])
