"""The clients for JavaScript and Go against a gateway: a program each, which tells what it got."""

from __future__ import annotations

import json
import subprocess
from typing import Any
from urllib.parse import quote

import pytest

from tests.gateway.clients.conftest import PASSWORD, Guarded
from tests.gateway.clients.downloads import tool, trino_go, trino_js
from tests.gateway.clients.typed_lake import CITIES, LARGE_ROWS, ROWS

pytestmark = pytest.mark.slow

_NAMES = "id, truth, whole, large, twice, money, exact, words, day, local, moment, raw"

_JAVASCRIPT = """
const {Trino, BasicAuth} = require('trino-client');
const [server, user, password, certificate] = process.argv.slice(1);
const ssl = certificate ? {ca: require('fs').readFileSync(certificate)} : undefined;
const trino = Trino.create({server, catalog: 'lake', schema: 'shop', ssl,
                            auth: new BasicAuth(user, password || undefined)});
async function all(sql) {
  const found = {columns: null, rows: [], error: null};
  for await (const page of await trino.query(sql)) {
    if (page.error) found.error = page.error.errorName;
    if (page.columns) found.columns = page.columns.map(one => one.type);
    if (page.data) found.rows.push(...page.data);
  }
  return found;
}
async function main() {
  const told = {};
  told.typed = await all('SELECT NAMES FROM kinds ORDER BY id');
  const many = await all('SELECT id FROM sales');
  told.many = many.rows.length;
  told.error = await all('SELECT nope FROM sales');
  told.prepared = await all("EXECUTE IMMEDIATE 'SELECT city FROM sales WHERE id = ?' USING 1");
  told.use = await all('USE lake.other');
  told.schema = await all('SELECT current_schema, current_user');
  console.log(JSON.stringify(told));
}
main().catch(error => { console.error(String(error)); process.exit(1); });
""".replace("NAMES", _NAMES)

_GO = """
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/trinodb/trino-go-client/trino"
)

func one(db *sql.DB, sql string, arguments ...any) string {
	var found string
	if err := db.QueryRow(sql, arguments...).Scan(&found); err != nil {
		return "error: " + err.Error()
	}
	return found
}

func main() {
	config := trino.Config{ServerURI: os.Args[1], Catalog: "lake", Schema: "shop"}
	if len(os.Args) > 2 {
		config.SSLCertPath = os.Args[2]
	}
	dsn, err := config.FormatDSN()
	if err != nil {
		panic(err)
	}
	db, err := sql.Open("trino", dsn)
	if err != nil {
		panic(err)
	}
	told := map[string]any{}
	told["user"] = one(db, "SELECT current_user")
	told["city"] = one(db, "SELECT city FROM sales WHERE id = ? AND city = ?", 1, "CITY")
	told["exact"] = one(db, "SELECT exact FROM kinds WHERE id = 1")
	told["words"] = one(db, "SELECT words FROM kinds WHERE id = 0")
	told["error"] = one(db, "SELECT nope FROM sales")
	var day, local, moment time.Time
	var twice float64
	var large int64
	row := db.QueryRow("SELECT day, local, moment, twice, large FROM kinds WHERE id = 0")
	if err := row.Scan(&day, &local, &moment, &twice, &large); err != nil {
		panic(err)
	}
	told["times"] = fmt.Sprint(day.Format("2006-01-02"), " ", local.Format("15:04:05.000000"), " ",
		moment.UTC().Format("15:04:05.000000"))
	told["numbers"] = fmt.Sprint(twice, " ", large)
	rows, err := db.Query("SELECT id FROM sales")
	if err != nil {
		panic(err)
	}
	count, sum := 0, int64(0)
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			panic(err)
		}
		count++
		sum += id
	}
	told["many"] = fmt.Sprint(count, " ", sum, " ", rows.Err())
	ctx, cancel := context.WithCancel(context.Background())
	long, err := db.QueryContext(ctx, "SELECT * FROM sales")
	if err != nil {
		panic(err)
	}
	long.Next()
	cancel()
	for long.Next() {
	}
	told["cancelled"] = errors.Is(long.Err(), context.Canceled)
	told["after"] = one(db, "SELECT count(*) FROM sales")
	text, _ := json.Marshal(told)
	fmt.Println(string(text))
}
""".replace("CITY", CITIES[7919 % 4].replace('"', '\\"'))


def _told(command: list[str], folder: str) -> dict[str, Any]:
    found = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert found.returncode == 0, found.stderr
    told: dict[str, Any] = json.loads(found.stdout.strip().split("\n")[-1])
    return told


def _by_javascript(*arguments: str) -> dict[str, Any]:
    node = tool("node", "npm's client")
    return _told([node, "-e", _JAVASCRIPT, *arguments], str(trino_js()))


def test_javascript(open_gateway: str) -> None:
    """Values as JSON has them, pages, errors, parameters."""
    told = _by_javascript(open_gateway, "ann")
    rows = {row[0]: row for row in told["typed"]["rows"]}
    assert told["typed"]["columns"][:2] == ["integer", "boolean"]
    assert rows[0][1:3] == [True, 2**31 - 1]
    assert rows[0][7] == ROWS[0]["words"]
    assert rows[0][5:7] == ["1234567.89", "1234567890123456789012345678.0123456789"]
    assert rows[2][4] == "NaN" and rows[3][4] == "-Infinity"
    assert rows[1][8:11] == [
        "0001-01-01",
        "0001-01-01 00:00:00.000",
        "0001-01-01 00:00:00.000 UTC",
    ]
    assert rows[5] == [5] + [None] * 11
    assert told["many"] == LARGE_ROWS
    assert told["error"]["error"] == "COLUMN_NOT_FOUND"
    assert told["prepared"]["rows"] == [[CITIES[7919 % 4]]]
    assert told["schema"]["rows"] == [["other", "ann"]]


def test_javascript_with_a_password(guarded: Guarded) -> None:
    """By TLS."""
    told = _by_javascript(guarded.url, "ann", PASSWORD, str(guarded.certificate))
    assert told["many"] == LARGE_ROWS


@pytest.fixture(scope="module")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiled one."""
    target = tmp_path_factory.mktemp("go") / "asking"
    command = [tool("go", "Go's client"), "build", "-o", str(target), "."]
    subprocess.run(command, cwd=trino_go(_GO), check=True, capture_output=True, timeout=300)
    return str(target)


def test_go(open_gateway: str, go_program: str) -> None:
    """Values, parameters, pages, an error, and an end by its context."""
    told = _told([go_program, open_gateway.replace("://", "://ann@")], ".")
    assert told["user"] == "ann"
    assert told["city"] == CITIES[7919 % 4]
    assert told["exact"] == str(ROWS[1]["exact"])
    assert told["words"] == ROWS[0]["words"]
    assert "nope" in told["error"]
    assert told["times"] == "2024-02-29 23:59:59.123456 23:59:59.123456"
    assert told["numbers"] == f"0.1 {2**63 - 1}"
    assert told["many"] == f"{LARGE_ROWS} {LARGE_ROWS * (LARGE_ROWS - 1) // 2} <nil>"
    assert told["cancelled"] is True
    assert told["after"] == str(LARGE_ROWS)


def test_go_with_a_password(guarded: Guarded, go_program: str) -> None:
    """By TLS."""
    address = guarded.url.replace("://", f"://ann:{quote(PASSWORD)}@")
    told = _told([go_program, address, str(guarded.certificate)], ".")
    assert told["user"] == "ann"
