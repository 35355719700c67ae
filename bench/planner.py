"""`python -m bench planner`: what planning takes, over TPC-DS's queries and 200 cubes.

Each statement is planned as a new text, and again as it stood. What matters is what a statement
waits that isn't rewritten in the end, as most of these: law 4. What the parser alone takes stands
beside.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import accelerator
from accelerator.planning.plans import PlainPlan
from bench.report import Report
from bench.ssb.workspace import SPARK_CONF
from bench.steps import Steps, noise_into
from bench.tpc.data import Suite, catalog_of
from rewrite.parse.parse import parse

NAMESPACE = "tpcds"
_FACTS = {
    "store_sales": ("ss", ("store", "s_store_sk", "ss_store_sk")),
    "catalog_sales": ("cs", ("call_center", "cc_call_center_sk", "cs_call_center_sk")),
    "web_sales": ("ws", ("web_site", "web_site_sk", "ws_web_site_sk")),
}
_MEASURES = ("quantity", "sales_price", "ext_sales_price", "net_profit", "ext_discount_amt")
_DIMENSIONS = {
    "date_dim": ("d_date_sk", "sold_date_sk", ("d_year", "d_moy", "d_qoy", "d_day_name", "d_dom")),
    "item": ("i_item_sk", "item_sk", ("i_brand_id", "i_category", "i_class", "i_color", "i_size")),
    "promotion": ("p_promo_sk", "promo_sk", ("p_channel_email", "p_channel_tv")),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--json", type=Path, default=Path("build/planner.json"))
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--cubes", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5, help="of which the first isn't counted")


def run(options: argparse.Namespace) -> int:
    """Makes the tables and cubes that aren't there, plans each query, writes the figures."""
    settings = {name: getattr(options, name) for name in ("scale", "cubes", "runs")}
    report, steps = Report("planner", options.json, settings), Steps(Console())
    data = Suite.of("ds", options.scale)
    warehouse = data.root / "planner"
    with steps.step(f"Generate TPC-DS at scale {options.scale:g}"):
        data.generate()
    warehouse.mkdir(parents=True, exist_ok=True)
    with (
        noise_into(data.root / "planner.log"),
        accelerator.open(warehouse, create=True, spark_conf=SPARK_CONF) as acc,
    ):
        with steps.step("Load the tables into Iceberg") as tell:
            data.load(catalog_of(acc.config.catalog_name, warehouse), tell)
        with steps.step(f"Register {options.cubes} cubes"):
            _register(acc, options.cubes)
        with steps.step(f"Plan {len(data.queries())} queries {options.runs} times"):
            _measure(acc, data.queries(), options.runs, report)
    report.complete = True
    report.save()
    for name, value in report.figures.items():
        steps.console.print(f"  {name:<24} {value:,.4g}", highlight=False)
    steps.console.print(f"Written to {report.path}")
    return 0


def cube_selects(count: int, seed: int = 1) -> Iterator[str]:
    """SELECTs of that many cubes over the three channels of sales, each different."""
    r, seen = random.Random(seed), set[str]()
    while len(seen) < count:
        fact, (prefix, place) = r.choice(list(_FACTS.items()))
        joins, keys = [], [f"{prefix}_{r.choice(('quantity', 'promo_sk'))}"]
        for table, (own, key, attributes) in r.sample(list(_DIMENSIONS.items()), r.randint(1, 3)):
            joins.append(f"JOIN {NAMESPACE}.{table} ON {prefix}_{key} = {own}")
            keys += r.sample(attributes, r.randint(1, 2))
        if r.random() < 0.3:
            joins.append(f"LEFT JOIN {NAMESPACE}.{place[0]} ON {place[2]} = {place[1]}")
        measures = [f"sum({prefix}_{m})" for m in r.sample(_MEASURES, r.randint(1, 3))]
        text = (
            f"SELECT {', '.join([*keys, 'count(*)', *measures])} FROM {NAMESPACE}.{fact}"
            f" {' '.join(joins)} GROUP BY {', '.join(keys)}"
        )
        if text not in seen:
            seen.add(text)
            yield text


def _register(acc: accelerator.Accelerator, count: int) -> None:
    for number, select in enumerate(cube_selects(count)):
        acc.query(f"CREATE CUBE IF NOT EXISTS planner_{number} DEFERRED AS {select}")


def _measure(
    acc: accelerator.Accelerator, queries: Mapping[int, str], runs: int, report: Report
) -> None:
    acc.query(f"USE {NAMESPACE}")
    taken: dict[int, dict[str, list[float]]] = {}
    reasons: Counter[str] = Counter()
    for run_number in range(runs):
        for number, text in queries.items():
            ms = taken.setdefault(number, {"parse": [], "plan": [], "cached": []})
            sql = text + "\n" * run_number  # another text of the same statement
            found = {
                "parse": _ms(lambda sql=sql: parse(sql)),
                "plan": _planned(acc, sql),
                "cached": _planned(acc, sql),
            }
            if run_number:
                for name, value in found.items():
                    ms[name].append(value)
            else:
                plan = acc.plan(sql)[0]
                reasons[plan.declined.code if isinstance(plan, PlainPlan) else "rewritten"] += 1
    medians = {
        number: {name: statistics.median(values) for name, values in ms.items()}
        for number, ms in taken.items()
    }
    planned = [ms["plan"] for ms in medians.values()]
    report.figures |= {
        "plan_p50_ms": float(np.percentile(planned, 50)),
        "plan_p99_ms": float(np.percentile(planned, 99)),
        "cached_plan_ms": statistics.median(ms["cached"] for ms in medians.values()),
        "parse_p50_ms": statistics.median(ms["parse"] for ms in medians.values()),
        "rewritten": reasons["rewritten"],
        "queries": len(queries),
    }
    details: dict[str, Any] = {"ms_by_query": medians, "reasons": dict(reasons)}
    report.details |= details


def _planned(acc: accelerator.Accelerator, sql: str) -> float:
    """As `acc.query` plans: Spark says meanwhile whether its session is as it was."""
    with acc.services.context.assumed() as holds:
        taken = _ms(lambda: acc.plan(sql))
        holds()
    return taken


def _ms(task: Any) -> float:
    begin = time.perf_counter()
    task()
    return (time.perf_counter() - begin) * 1000
