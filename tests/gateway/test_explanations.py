"""How statements are answered is told while it's known, and keeps nothing alive for that."""

from __future__ import annotations

import gc
import json
import threading

import pytest

import accelerator
from accelerator.gateway.workers.explanations import _KEPT_MAX, _NEWEST, Explanations
from accelerator.planning.plans import PlainPlan
from accelerator.query.recording.plan_observers import observing, tell
from rewrite.reason import Declined
from tests.gateway.support import made_warehouse

SQL = "SELECT city, count(*) FROM lake.shop.sales WHERE id < 100 GROUP BY city"


@pytest.fixture
def session(tmp_path):
    with accelerator.open(str(made_warehouse(tmp_path / "warehouse"))) as found:
        yield found


def a_plan(number=0):
    return PlainPlan(Declined("parse_failed", f"number {number}"))


def test_the_plan_that_a_query_got(session):
    kept, explainer = Explanations(), session.queries.explainer
    with observing(lambda sql, plan: kept.keep(5, sql, plan, explainer)):
        session.query(SQL)
    found = kept.explanation_of(5)
    assert "rows of lake.shop.sales" in found["text"]
    (table,) = found["tables"]
    assert table["sources"] == {"nothing": 1, "rows": 1}
    assert [one[0] for one in table["funnel"]] == ["data files", "left by bounds", "bytes"]
    assert found["reasons"] and all(one["code"] for one in found["reasons"])
    assert json.loads(json.dumps(found)) == found
    assert kept.explanation_of(6) is None


def test_a_stream_tells_before_its_rows_are_read(session):
    told = []
    with observing(lambda _sql, plan: told.append(plan)):
        reader = session.stream("SELECT id FROM lake.shop.sales WHERE id >= 600")
    assert len(told) == 1 and told[0].leaves()
    reader.close()


def test_one_that_fails_tells_why(session):
    kept, explainer = Explanations(), session.queries.explainer
    with (
        pytest.raises(accelerator.AcceleratorError),
        observing(lambda sql, plan: kept.keep(1, sql, plan, explainer)),
    ):
        session.query("SELECT nope FROM lake.shop.sales")
    assert kept.explanation_of(1)["reasons"][0]["code"] == "column_unknown"


def test_only_who_asks_in_that_thread_is_told():
    told = []
    with observing(lambda sql, _plan: told.append(sql)):
        other = threading.Thread(target=tell, args=("other", a_plan()))
        other.start()
        other.join()
        tell("own", a_plan())
        with observing(lambda sql, _plan: told.append(sql.upper())):
            tell("within", a_plan())
        tell("again", a_plan())
    tell("behind", a_plan())
    assert told == ["own", "WITHIN", "again"]


def test_plans_live_no_longer_for_it(session):
    kept, explainer = Explanations(), session.queries.explainer
    cached = a_plan()
    kept.keep(0, SQL, cached, explainer)
    for number in range(1, _NEWEST + 2):
        kept.keep(number, SQL, a_plan(number), explainer)
    gc.collect()
    assert kept.explanation_of(0) is not None  # somebody else has it
    assert kept.explanation_of(1) is None and kept.explanation_of(2) is not None


def test_so_many_are_known(session):
    kept, plan = Explanations(), a_plan()
    for number in range(_KEPT_MAX + 1):
        kept.keep(number, SQL, plan, session.queries.explainer)
    assert kept.explanation_of(0) is None and kept.explanation_of(1) is not None


def test_a_session_that_is_gone_is_gone(tmp_path):
    kept = Explanations()
    session = accelerator.open(str(made_warehouse(tmp_path / "warehouse")))
    plan = a_plan()
    kept.keep(1, SQL, plan, session.queries.explainer)
    session.close()
    del session
    gc.collect()
    assert kept.explanation_of(1) is None
