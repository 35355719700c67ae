"""Who applies advice needs all that it does, whatever table it is about."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pyarrow as pa
import pytest
from msgspec.structs import replace

import accelerator
from accelerator.errors import AdviceNotFoundError, AdviceStaleError
from accelerator.gateway.access.check import check
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.grants import Grant, UserAccess
from accelerator.gateway.workers import run_statement
from accelerator.gateway.workers.api.calls import ApiCall, answered
from accelerator.query.statements.nodes import ShowRecommendations
from accelerator.query.statements.parse import parse_statement
from accelerator.services.advisor.apply import apply
from accelerator.services.advisor.ddl import run_apply, show
from accelerator.store.journals.advice import Advice, Recommendation, write
from accelerator.store.journals.query_log.visibility import shown_to
from tests.support.pristine import Pristine

SECRET, OK = "lake.d.secret", "lake.d.ok"


def _fill(catalog):
    rows = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "v": ["x", "y", None]})
    catalog.create_namespace("d")
    for name in ("ok", "secret"):
        catalog.create_table(f"d.{name}", rows.schema).append(rows)


@pytest.fixture(scope="module")
def acc(tmp_path_factory):
    with accelerator.open(Pristine(tmp_path_factory.mktemp("lakes")).lake(_fill)) as session:
        yield session


def test_who_applies_advice_needs_what_it_does(acc):
    """Reading the table that is named isn't enough where a recommendation reads another."""
    one = Recommendation(
        id="r0123456789ab",
        action="CREATE CUBE",
        table=OK,
        table_uuid=acc.services.lake.pin().table(tuple(OK.split("."))).uuid,
        cube="c",
        ddl=f"CREATE CUBE c AS SELECT v, count(*) AS n FROM {OK}, {SECRET} GROUP BY v",
        reason="",
    )
    files = acc.services.store.files
    path = write(files, Advice(1, one.table_uuid, OK, 1, 1.0, recommendations=(one,)))
    metrics = Grant("allow", "metrics", "gateway", ())
    try:
        for said in (f"FOR {OK}", one.id):
            words = "RECOMMENDATIONS" if "FOR" in said else "RECOMMENDATION"
            statement = parse_statement(f"APPLY {words} {said}")
            grants = [Grant("allow", "read", "table", tuple(OK.split("."))), metrics]
            grants.append(Grant("allow", "manage", "cube", ("*",)))
            with pytest.raises(AccessDeniedError) as raised:
                check(statement, UserAccess.of(grants), acc.services)
            assert "isn't known" not in str(raised.value)
            every = [*grants, Grant("allow", "read", "table", tuple(SECRET.split(".")))]
            check(statement, UserAccess.of(every), acc.services)
            with pytest.raises(AccessDeniedError, match="manage"):
                check(statement, UserAccess.of([*every[:2], every[-1]]), acc.services)
    finally:
        files.delete([path])


def test_texts_of_others_are_shown_only_to_who_may_see_them(acc):
    one = Recommendation(
        id="r0123456789ab",
        action="CREATE CUBE",
        table=OK,
        table_uuid=acc.services.lake.pin().table(tuple(OK.split("."))).uuid,
        cube="c",
        ddl=f"CREATE CUBE c AS SELECT v, count(*) AS n FROM {OK} GROUP BY v",
        reason="",
        samples=(f"SELECT count(*) FROM {OK} WHERE v = 'mine'",),
    )
    files = acc.services.store.files
    path = write(files, Advice(1, one.table_uuid, OK, 1, 1.0, recommendations=(one,)))
    path_of = {"catalog": "lake", "schema": "d", "table": "ok"}
    call = {"call": "list_recommendations", "access": UserAccess.all().to_json(), "user": "ann"}
    call |= {"path": path_of, "query": {}, "body": {}}
    statement = ShowRecommendations(tuple(OK.split(".")))
    try:
        for whose, shown in ((None, [list(one.samples)]), ("ann", [[]])):
            with shown_to(whose):
                assert [row["samples"] for row in show(statement, acc.services)] == shown
                found = answered(
                    ApiCall.from_dict(call | {"log_of": whose}), acc.services, None, None
                )
                assert [row.samples for row in found.items] == shown
        for wrong in ({}, {"log_of": 7}):
            with pytest.raises((LookupError, ValueError)):
                ApiCall.from_dict(call | wrong)
    finally:
        files.delete([path])


def test_who_applies_advice_needs_what_it_needs(acc):
    """An index on a relate column brings that with it, and so the dimension that it's read from."""
    own = acc.services.lake.pin().table(tuple(OK.split("."))).uuid
    relate = Recommendation(
        id="r0123456789ab",
        action="ADD RELATE COLUMN",
        table=OK,
        table_uuid=own,
        cube="",
        ddl=f"ALTER TABLE {OK} ADD RELATE COLUMN FROM {SECRET}.v ON {OK}.k = {SECRET}.k AS hidden",
        reason="",
        relate="hidden",
    )
    index = replace(
        relate,
        id="r0123456789ac",
        action="CREATE INDEX",
        ddl=f"CREATE INDEX i ON {OK} USING BLOOM (hidden)",
        relate="",
        index="i",
        needs=(relate.id,),
    )
    files = acc.services.store.files
    path = write(files, Advice(1, own, OK, 1, 1.0, recommendations=(relate, index)))
    grants = [Grant("allow", "metrics", "gateway", ())]
    grants += [Grant("allow", right, "table", tuple(OK.split("."))) for right in ("read", "change")]
    grants.append(Grant("allow", "manage", "index", ("*",)))
    statement = parse_statement(f"APPLY RECOMMENDATION {index.id}")
    try:
        with pytest.raises(AccessDeniedError):
            check(statement, UserAccess.of(grants), acc.services)
        more = Grant("allow", "read", "table", tuple(SECRET.split(".")))
        check(statement, UserAccess.of([*grants, more]), acc.services)
    finally:
        files.delete([path])


class _StoppedError(Exception):
    pass


def _advised(acc, ddl):
    """Advice of one recommendation, always of the same id, and the advice's path."""
    own = acc.services.lake.pin().table(tuple(OK.split("."))).uuid
    one = Recommendation("r0123456789ab", "CREATE CUBE", OK, own, "c", ddl, "")
    path = write(acc.services.store.files, Advice(1, own, OK, 1, 1.0, recommendations=(one,)))
    return one, path


@pytest.mark.parametrize("words", ["RECOMMENDATION r0123456789ab", f"RECOMMENDATIONS FOR {OK}"])
def test_what_is_done_is_what_was_checked(acc, monkeypatch, words):
    """Another session's ANALYZE may write advice between the check and what it allows."""
    harmless, path = _advised(acc, f"CREATE CUBE c AS SELECT v, count(*) AS n FROM {OK} GROUP BY v")
    paths, files = [path], acc.services.store.files
    ran = []

    def checked(statement, access, services):
        tables = check(statement, access, services)
        files.delete([paths.pop()])
        other = f"CREATE CUBE c AS SELECT v, count(*) AS n FROM {SECRET} GROUP BY v"
        paths.append(_advised(acc, other)[1])
        return tables

    def answered(statement, *_):
        list(run_apply(statement, acc.services, None))
        raise _StoppedError

    monkeypatch.setattr(run_statement, "check", checked)
    monkeypatch.setattr(acc, "answered", answered)
    monkeypatch.setattr(apply, "Recorder", lambda _: nullcontext)
    monkeypatch.setattr(apply._Applying, "run", lambda one, _: ran.append(one._one))
    job = SimpleNamespace(access=UserAccess.all(), timeout_s=0.0, for_patterns=False)
    worker = run_statement.Asking({"version": "480"})
    monkeypatch.setattr(worker, "_read", lambda *_: parse_statement(f"APPLY {words}"))
    try:
        with pytest.raises(_StoppedError):
            worker._run(acc, job, "")
    finally:
        files.delete(paths)
    assert ran == [harmless]


def test_advice_that_comes_behind_the_check_is_not_done(acc, monkeypatch):
    paths = []

    def checked(*_):
        paths.append(_advised(acc, f"CREATE CUBE c AS SELECT v, count(*) FROM {OK} GROUP BY v")[1])

    monkeypatch.setattr(run_statement, "check", checked)
    monkeypatch.setattr(acc, "answered", lambda *_: pytest.fail("done without a check"))
    worker = run_statement.Asking({"version": "480"})
    monkeypatch.setattr(worker, "_read", lambda *_: parse_statement("APPLY RECOMMENDATION r0"))
    job = SimpleNamespace(access=UserAccess.all(), timeout_s=0.0, for_patterns=False)
    try:
        with pytest.raises((AdviceStaleError, AdviceNotFoundError)):
            worker._run(acc, job, "")
    finally:
        acc.services.store.files.delete(paths)
