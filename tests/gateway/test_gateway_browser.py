"""The gateway's page in a real Chromium: what runs is shown, keys work, no text is ever markup."""

from __future__ import annotations

import urllib.request

import pytest

import accelerator
from accelerator.common.config.config import Config
from accelerator.gateway import serving
from tests.gateway.support import made_warehouse
from tests.support.browser import CHROMIUM, DRIVER, browsing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="Chromium and its driver aren't here"),
]
ROWS = "document.querySelectorAll('#rows tr').length"
EVIL = "<img src=x onerror=\"document.title='hit'\"><script>document.title='hit'</script>"
CUBE = "CREATE CUBE by_city AS SELECT city, count(*) AS n FROM lake.shop.sales GROUP BY city"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = made_warehouse(tmp_path_factory.mktemp("browser") / "warehouse")
    with accelerator.open(str(folder)) as session:
        session.query(CUBE)
    config = Config.load(None, warehouse=str(folder))
    with serving.start(config, workers=1, maintenance=False) as found:
        yield found


def post(gateway, sql, **headers):
    """Asks a statement whose answer fits into the first response, or fails."""
    known = {"X-Trino-User": "me", "X-Trino-Catalog": "lake", "X-Trino-Schema": "shop"}
    named = {f"X-Trino-{name.replace('_', '-')}": value for name, value in headers.items()}
    request = urllib.request.Request(gateway.url + "/v1/statement", sql.encode(), known | named)
    with urllib.request.urlopen(request) as response:
        response.read()


@pytest.fixture(scope="module")
def asked(gateway):
    post(gateway, "SELECT id, city FROM sales WHERE id = 7")
    post(gateway, "SELECT city, count(*) FROM sales GROUP BY city")
    post(gateway, f"SELECT '{EVIL.replace(chr(39), chr(39) * 2)}'")
    post(gateway, f'SELECT "{EVIL.replace(chr(34), chr(34) * 2)}" FROM sales')
    post(gateway, "SELECT 2", User=EVIL, Source=EVIL, Client_Tags=EVIL.replace(",", ""))
    return gateway


@pytest.mark.parametrize(("dark", "width"), [(False, 1400), (True, 1400), (True, 420)])
def test_the_page(asked, dark, width):
    with browsing(dark=dark, width=width) as browser:
        browser.open(asked.url + "/ui/")
        browser.wait(f"{ROWS} >= 5 && document.querySelector('canvas')")
        browser.wait("document.querySelector('.live.on')")
        found = "return matchMedia('(prefers-color-scheme: dark)').matches"
        assert browser.run(found) is dark
        assert browser.run("return document.querySelectorAll('#tiles .tile').length") == 6
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        # A statement with its funnel, and back by the keyboard.
        browser.press("/")
        assert browser.run("return document.activeElement.id") == "of-text"
        browser.press(*"id = 7")
        browser.wait(f"{ROWS} === 1")
        browser.click("#rows a")
        browser.wait("document.querySelectorAll('#detail .stage').length >= 2")
        told = browser.run("return document.querySelector('#detail').textContent")
        assert "left by bounds" in told and "1 of 2" in told and "lake.shop.sales" in told
        assert browser.run("return document.activeElement.id") == "drawer-title"
        browser.press("Escape")
        browser.wait("document.querySelector('#drawer').hidden && !location.hash")
        assert browser.complaints() == []


def test_no_text_is_markup(asked):
    with browsing() as browser:
        browser.open(asked.url + "/ui/")
        browser.wait(f"{ROWS} >= 5")
        ids = browser.run("return [...document.querySelectorAll('#rows a')].map((a) => a.hash)")
        for id in ids:
            browser.open(f"{asked.url}/ui/{id}")
            browser.wait("document.querySelector('#detail pre.sql')")
        found = "return document.querySelectorAll('main img, main script, aside img, aside script')"
        assert browser.run(found) == []
        assert browser.run("return document.title") == "Lakehouse accelerator"
        assert EVIL in browser.run("return document.body.textContent")
        # Neither does an address of somebody's make.
        browser.open(f"{asked.url}/ui/#{EVIL}")
        browser.wait("document.querySelector('#detail').textContent.includes('no such statement')")
        assert browser.run("return document.title") == "Lakehouse accelerator"
        refused = [one for one in browser.complaints() if "404" not in one]
        assert refused == []


def test_arrows_go_through_the_statements(asked):
    with browsing() as browser:
        browser.open(asked.url + "/ui/")
        browser.wait(f"{ROWS} >= 5")
        browser.run("document.querySelector('#rows a').focus()")
        browser.press("Enter")
        first = browser.wait("!document.querySelector('#drawer').hidden && location.hash")
        browser.run("document.querySelector('#rows a').focus()")
        browser.press("ArrowDown")
        second = browser.wait(f"location.hash !== {first!r} && location.hash")
        rows = browser.run("return [...document.querySelectorAll('#rows a')].map((a) => a.hash)")
        assert rows[:2] == [first, second]


def test_a_new_statement_comes_by_itself(asked):
    with browsing() as browser:
        browser.open(asked.url + "/ui/")
        before = browser.wait(ROWS)
        post(asked, "SELECT 'it is new'")
        browser.wait(f"{ROWS} > {before}")
        assert "it is new" in browser.run("return document.querySelector('#rows').textContent")
