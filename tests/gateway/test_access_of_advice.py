"""Who applies advice needs all that it does, whatever table it is about."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import accelerator
from accelerator.advisor.advice import Advice, Recommendation, write
from accelerator.gateway.access.access import Access, Grant
from accelerator.gateway.access.check import check
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.statements.grammar import parse_statement
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
                check(statement, Access.of(grants), acc.services)
            assert "isn't known" not in str(raised.value)
            every = [*grants, Grant("allow", "read", "table", tuple(SECRET.split(".")))]
            check(statement, Access.of(every), acc.services)
            with pytest.raises(AccessDeniedError, match="manage"):
                check(statement, Access.of([*every[:2], every[-1]]), acc.services)
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
            check(statement, Access.of(grants), acc.services)
        more = Grant("allow", "read", "table", tuple(SECRET.split(".")))
        check(statement, Access.of([*grants, more]), acc.services)
    finally:
        files.delete([path])
