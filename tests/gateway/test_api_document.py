"""The API's document, cursors and statuses: without a gateway."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.gateway.http.api.openapi import document
from accelerator.gateway.http.api.problems import STATUS, problem, status_of
from accelerator.gateway.http.api.routes import BASE, ROUTES
from accelerator.gateway.trino.errors import NAMES, TrinoError
from accelerator.gateway.workers.api import paging
from accelerator.gateway.workers.api.errors import CursorError, RequestError
from accelerator.gateway.workers.api.models import Paging

DOCS = Path(__file__).parents[2] / "docs" / "reference"
RECORDED = DOCS / "openapi.json"


def test_the_document_is_the_recorded_one():
    """`UPDATE_DOCS=1` records it anew."""
    text = json.dumps(document(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_DOCS"):
        RECORDED.write_text(text, encoding="utf-8")
    assert RECORDED.read_text(encoding="utf-8") == text


def test_the_document_is_of_openapi():
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(document())


def test_each_operation_is_in_the_reference():
    told = (DOCS / "api.md").read_text(encoding="utf-8")
    for route in ROUTES:
        assert f"`{route.method} {BASE}{route.path}`" in told, route.name


def test_each_status_of_an_error_is_in_the_reference_and_of_a_code_that_is_known():
    told = (DOCS / "api.md").read_text(encoding="utf-8")
    for code, status in STATUS.items():
        assert code in NAMES
        assert f"`{code}`" in told, code
        assert problem(TrinoError(code, "text")).status == status


@given(st.text(max_size=20))
def test_any_error_has_a_status(code):
    assert 400 <= status_of(TrinoError(code, "text")) < 600


@given(st.lists(st.text(max_size=5), unique=True), st.integers(1, 5))
def test_parts_by_name_are_the_whole_list(names, limit):
    found, cursor = [], None
    while True:
        part, cursor = paging.by_name(names, Paging(limit=limit, cursor=cursor), "l", str)
        found += part
        assert len(part) <= limit
        if cursor is None:
            break
    assert found == sorted(names)


@given(st.integers(0, 30), st.integers(1, 9))
def test_parts_by_place_are_the_whole_list(count, limit):
    found, cursor = [], None
    while True:
        page = Paging(limit=limit, cursor=cursor)
        begin, end, cursor = paging.by_place(count, page, "l")
        found += range(begin, end)
        if cursor is None:
            break
    assert found == list(range(count))


def test_a_cursor_is_of_one_list():
    _, cursor = paging.by_name(["a", "b"], Paging(limit=1), "one", str)
    with pytest.raises(CursorError):
        paging.by_name(["a", "b"], Paging(cursor=cursor), "other", str)
    with pytest.raises(RequestError):
        paging.by_place(2, Paging(cursor=cursor), "one")


@given(st.from_regex(r"[A-Za-z0-9_\-]{1,60}", fullmatch=True))
def test_a_cursor_that_somebody_made_up_is_refused(text):
    with pytest.raises((CursorError, RequestError)):
        paging.by_place(10, Paging(cursor=text), "list")
