"""Trino's JDBC driver against a gateway: a Java program asks, what it tells is compared here."""

from __future__ import annotations

import base64
import datetime as dt
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.clients.conftest import PASSWORD, Guarded
from tests.gateway.clients.downloads import tool, trino_jdbc
from tests.gateway.clients.typed_lake import CITIES, LARGE_ROWS, ROWS, TRINO

pytestmark = [pytest.mark.slow, pytest.mark.spark]

_SOURCE = Path(__file__).with_name("Asking.java")
_ZONE = "Asia/Kathmandu"


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The class path of the compiled program."""
    jar, folder = trino_jdbc(), tmp_path_factory.mktemp("classes")
    command = [tool("javac", "trino-jdbc"), "-cp", str(jar), "-d", str(folder), str(_SOURCE)]
    subprocess.run(command, check=True, capture_output=True)
    return f"{folder}{os.pathsep}{jar}"


def _told(classes: str, url: str, *properties: str) -> dict[str, str]:
    command = [tool("java", "trino-jdbc"), f"-Duser.timezone={_ZONE}", "-Dfile.encoding=UTF-8"]
    address = f"jdbc:trino://{url.split('://')[1]}/lake/shop"
    found = subprocess.run(
        [*command, "-cp", classes, "Asking", address, *properties],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    lines = [line.partition("\t") for line in found.stdout.split("\n")]
    return {name: told for name, tab, told in lines if tab}


@pytest.fixture(scope="module")
def told(classes: str, open_gateway: str) -> dict[str, str]:
    """What each step of the program gave."""
    return _told(classes, open_gateway, "user=ann")


def test_metadata(told: dict[str, str]) -> None:
    """DatabaseMetaData tells what was made."""
    assert told["product"] == "Trino 476"
    assert told["user"] == "ann"
    assert told["catalogs"] == "lake;system;"
    assert told["schemas"] == "information_schema;other;shop;"
    assert told["tables"] == "keys;kinds;sales;"
    assert told["tables like"] == "sales;"
    assert told["columns"].split(";")[:-1] == list(TRINO)
    types = [one.replace(", ", ",") for one in TRINO.values()][:14]
    assert told["column types"].split(";")[:14] == types
    codes = "4;16;4;-5;7;8;3;3;12;91;93;2014;-3;-3;"
    assert told["column codes"].startswith(codes)
    assert {"bigint", "varchar", "date", "decimal"} <= set(told["types"].split(";"))
    assert told["table types"] == "TABLE;VIEW;"
    nothing = ("primary keys", "imported keys", "procedures", "user types", "attributes")
    assert {told[one] for one in (*nothing, "pseudo columns")} == {""}


def _java(value: Any) -> str:
    """A value as Java writes it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case bytes():
            return base64.b64encode(value).decode()
        case dt.datetime():
            digits = f"{value.microsecond:06}".rstrip("0") or "0"
            return f"{value:%Y}".rjust(4, "0") + f"{value:-%m-%d %H:%M:%S}.{digits}"
        case float():
            named = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
            return named.get(repr(value), repr(value))
        case _:
            return str(value)


@pytest.mark.parametrize("id", range(3))
def test_types(told: dict[str, str], id: int) -> None:
    """Each value is what was written; the driver gives moments in its own zone."""
    row = dict(ROWS[id])
    zone = dt.timezone(dt.timedelta(hours=5, minutes=45))
    found = told[f"row {id}"].removesuffix(";")
    for name in ("id", "truth", "whole", "large", "money", "day", "raw", "four", "local"):
        assert _java(row[name]) in found, name
    if id == 0:
        words = row["words"].replace("\n", "\\n")
        moment = _java(row["moment"].astimezone(zone).replace(tzinfo=None))
        wanted = [words, str(row["exact"]), "1.5", "0.1", moment]
        assert all(one in found for one in wanted), found


def test_odd_numbers(told: dict[str, str]) -> None:
    """NaN, infinities, the smallest and the greatest, and a zero with a sign."""
    assert ",-0.0,-0.0," in told["row 1"]
    assert ",Infinity,NaN," in told["row 2"]
    assert ",NaN,-Infinity," in told["row 3"]
    assert ",3.4028235E38,4.9E-324," in told["row 4"]
    assert told["row 5"] == "5" + ",null" * 13 + ";"


def test_pages(told: dict[str, str]) -> None:
    """All rows of a large answer, and the first of it."""
    assert told["count of many"] == f"{LARGE_ROWS} {LARGE_ROWS * (LARGE_ROWS - 1) // 2}"
    assert told["max rows"] == "7"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("boolean", "true"),
        ("byte", "-1"),
        ("short", "2"),
        ("int", "-3"),
        ("long", str(2**63 - 1)),
        ("float", "1.5"),
        ("double", "-2.5"),
        ("nan", "NaN"),
        ("decimal", "-12.340"),
        ("string", 'it\'s ? \\ "x" --'),
        ("bytes", "AP8="),
        ("date", "2024-02-29"),
        ("timestamp", "2024-02-29 12:34:56.789"),
        *((f"null {code}", "null") for code in (16, 4, -5, 8, 3, 12, 91, 93, -3)),
    ],
)
def test_setters(told: dict[str, str], name: str, wanted: str) -> None:
    """A parameter comes back as it was set."""
    assert told[f"set {name}"] == f"{wanted};"


def test_prepared_again(told: dict[str, str]) -> None:
    """One prepared statement is executed with other values; its columns are known before."""
    last = f"59999,{CITIES[59_999 * 7919 % 4]};"
    rows = " ".join(f"{id},{CITIES[id * 7919 % 4]};{last}" for id in range(3))
    assert told["again"] == f"city 3 {rows}"


def test_session(told: dict[str, str]) -> None:
    """Transactions, schemas and properties are the connection's."""
    assert told["transaction"] == f"{LARGE_ROWS};1;"
    assert told["valid"] == "true"
    assert told["schema"] == "other,0;shop"
    assert told["session property"].startswith("result_cache,false,true,boolean,")
    assert told["cubes"] == ""


def test_refused(told: dict[str, str]) -> None:
    """What isn't answered has a sentence, and takes nothing along."""
    assert "INSERT isn't supported" in told["update"]
    assert "not supported" in told["batch"]
    assert told["error"].startswith("error 47 ") and "nope" in told["error"]
    assert told["cancel"] == "ended"
    assert told["after"] == f"{LARGE_ROWS};"


def test_password(classes: str, guarded: Guarded) -> None:
    """By TLS and a password."""
    trust = "SSL=true", f"SSLTrustStorePath={guarded.certificate}"
    found = _told(classes, guarded.url, "user=ann", f"password={PASSWORD}", *trust)
    assert found["user"] == "ann"
    assert found["after"] == f"{LARGE_ROWS};"
    wrong = _told(classes, guarded.url, "user=ann", "password=nope", *trust)
    assert all("rror" in one for name, one in wrong.items() if name.startswith("row "))
    assert "Authentication failed" in wrong["catalogs"]
