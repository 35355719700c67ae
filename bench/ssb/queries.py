"""The 13 SSB queries as templates whose literals are drawn anew for every run.

Variant 0 has the paper's own literals; any other is drawn from the values that the paper's
sections 3.1 to 3.4 choose from, so that each variant keeps the query's filter factor. The text is
Spark SQL with the paper's comma joins; only the date table is renamed to `dates`.

Q1.3 takes quantity 36 to 40: the paper gives the factor 1/10 for it, which is a window of five.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.ssb import words

NAMESPACE = "ssb"
Literals = Mapping[str, str | int]
_NATION_AND_REGION = tuple(zip(words.NATIONS, words.REGION_OF_NATION, strict=True))
_YEARS = range(1992, 1999)


@dataclass(frozen=True, slots=True)
class Query:
    """One query: its template, the paper's literals, how others are drawn, its filter factor.

    `order_by` are the positions of the ORDER BY keys in the result.
    """

    name: str
    template: str
    literals: Literals
    draw: Callable[[random.Random], Literals]
    filter_factor: float
    order_by: tuple[int, ...] = ()

    def sql(self, variant: int = 0, seed: int = 0, namespace: str = NAMESPACE) -> str:
        """The statement of a variant; the same variant and seed always give the same text."""
        literals = self.literals
        if variant:
            literals = self.draw(random.Random(f"{seed}/{self.name}/{variant}"))
        return self.template.format(ns=namespace, **literals)


def _discount_window(rng: random.Random) -> tuple[int, int]:
    low = rng.randrange(0, 9)
    return low, low + 2


def _draw_q11(rng: random.Random) -> Literals:
    low, high = _discount_window(rng)
    return {"year": rng.choice(_YEARS), "low": low, "high": high, "quantity": rng.randint(24, 26)}


def _draw_q12(rng: random.Random) -> Literals:
    low, high = _discount_window(rng)
    quantity = rng.randint(1, 41)
    month = rng.choice(_YEARS) * 100 + rng.randint(1, 12)
    return {"month": month, "low": low, "high": high, "qlow": quantity, "qhigh": quantity + 9}


def _draw_q13(rng: random.Random) -> Literals:
    low, high = _discount_window(rng)
    quantity = rng.randint(1, 46)
    window = {"low": low, "high": high, "qlow": quantity, "qhigh": quantity + 4}
    return {"week": rng.randint(1, 52), "year": rng.choice(_YEARS), **window}


def _draw_q21(rng: random.Random) -> Literals:
    return {"category": rng.choice(words.CATEGORIES), "region": _region(rng)}


def _draw_q22(rng: random.Random) -> Literals:
    # Brands compare as text, so eight in a row must share their tens digit.
    category, first = rng.choice(words.CATEGORIES), 10 * rng.randint(1, 3) + rng.randint(0, 2)
    return {"low": f"{category}{first}", "high": f"{category}{first + 7}", "region": _region(rng)}


def _draw_q23(rng: random.Random) -> Literals:
    return {"brand": rng.choice(words.BRANDS), "region": _region(rng)}


def _draw_q31(rng: random.Random) -> Literals:
    return {"region": _region(rng), **_six_years(rng)}


def _draw_q32(rng: random.Random) -> Literals:
    return {"nation": rng.choice(words.NATIONS), **_six_years(rng)}


def _draw_q33(rng: random.Random) -> Literals:
    return {**_two_cities(rng), **_six_years(rng)}


def _draw_q34(rng: random.Random) -> Literals:
    month = f"{rng.choice(words.MONTHS)[:3]}{rng.choice(_YEARS)}"
    return {**_two_cities(rng), "month": month}


def _draw_q41(rng: random.Random) -> Literals:
    one, two = rng.sample(words.MFGRS, 2)
    return {"region": _region(rng), "mfgr_one": one, "mfgr_two": two}


def _draw_q42(rng: random.Random) -> Literals:
    return {**_draw_q41(rng), **_two_years(rng)}


def _draw_q43(rng: random.Random) -> Literals:
    nation, region = rng.choice(_NATION_AND_REGION)
    literals = {"nation": nation, "region": region, "category": rng.choice(words.CATEGORIES)}
    return {**literals, **_two_years(rng)}


def _region(rng: random.Random) -> str:
    return rng.choice(tuple(words.REGIONS))


def _six_years(rng: random.Random) -> Literals:
    first = rng.choice((1992, 1993))
    return {"first_year": first, "last_year": first + 5}


def _two_years(rng: random.Random) -> Literals:
    one = rng.choice(_YEARS[:-1])
    return {"year_one": one, "year_two": one + 1}


def _two_cities(rng: random.Random) -> Literals:
    one, two = rng.sample(words.cities(rng.choice(words.NATIONS)), 2)
    return {"city_one": one, "city_two": two}


_FLIGHT_1 = """\
select sum(lo_extendedprice*lo_discount) as revenue
from {ns}.lineorder, {ns}.dates
where lo_orderdate = d_datekey
"""
_FLIGHT_2 = """\
select sum(lo_revenue), d_year, p_brand1
from {ns}.lineorder, {ns}.dates, {ns}.part, {ns}.supplier
where lo_orderdate = d_datekey and lo_partkey = p_partkey and lo_suppkey = s_suppkey
"""
_FLIGHT_2_END = """
group by d_year, p_brand1
order by d_year, p_brand1"""
_FLIGHT_3_FROM = """\
from {ns}.customer, {ns}.lineorder, {ns}.supplier, {ns}.dates
where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey
"""
_FLIGHT_3_CITIES = f"""\
select c_city, s_city, d_year, sum(lo_revenue) as revenue
{_FLIGHT_3_FROM}"""
_FLIGHT_3_CITIES_END = """
group by c_city, s_city, d_year
order by d_year asc, revenue desc"""
_TWO_CITIES = """\
  and (c_city = '{city_one}' or c_city = '{city_two}')
  and (s_city = '{city_one}' or s_city = '{city_two}')"""
_SIX_YEARS = "\n  and d_year >= {first_year} and d_year <= {last_year}"
_FLIGHT_4_FROM = """\
from {ns}.dates, {ns}.customer, {ns}.supplier, {ns}.part, {ns}.lineorder
where lo_custkey = c_custkey and lo_suppkey = s_suppkey
  and lo_partkey = p_partkey and lo_orderdate = d_datekey
"""

QUERIES: tuple[Query, ...] = (
    Query(
        "Q1.1",
        _FLIGHT_1 + "  and d_year = {year}\n"
        "  and lo_discount between {low} and {high} and lo_quantity < {quantity}",
        {"year": 1993, "low": 1, "high": 3, "quantity": 25},
        _draw_q11,
        (1 / 7) * (3 / 11) * 0.5,
    ),
    Query(
        "Q1.2",
        _FLIGHT_1 + "  and d_yearmonthnum = {month}\n"
        "  and lo_discount between {low} and {high} and lo_quantity between {qlow} and {qhigh}",
        {"month": 199401, "low": 4, "high": 6, "qlow": 26, "qhigh": 35},
        _draw_q12,
        (1 / 84) * (3 / 11) * 0.2,
    ),
    Query(
        "Q1.3",
        _FLIGHT_1 + "  and d_weeknuminyear = {week} and d_year = {year}\n"
        "  and lo_discount between {low} and {high} and lo_quantity between {qlow} and {qhigh}",
        {"week": 6, "year": 1994, "low": 5, "high": 7, "qlow": 36, "qhigh": 40},
        _draw_q13,
        (1 / 364) * (3 / 11) * 0.1,
    ),
    Query(
        "Q2.1",
        _FLIGHT_2 + "  and p_category = '{category}' and s_region = '{region}'" + _FLIGHT_2_END,
        {"category": "MFGR#12", "region": "AMERICA"},
        _draw_q21,
        (1 / 25) * (1 / 5),
        (1, 2),
    ),
    Query(
        "Q2.2",
        _FLIGHT_2
        + "  and p_brand1 between '{low}' and '{high}' and s_region = '{region}'"
        + _FLIGHT_2_END,
        {"low": "MFGR#2221", "high": "MFGR#2228", "region": "ASIA"},
        _draw_q22,
        (8 / 1000) * (1 / 5),
        (1, 2),
    ),
    Query(
        "Q2.3",
        _FLIGHT_2 + "  and p_brand1 = '{brand}' and s_region = '{region}'" + _FLIGHT_2_END,
        {"brand": "MFGR#2239", "region": "EUROPE"},
        _draw_q23,
        (1 / 1000) * (1 / 5),
        (1, 2),
    ),
    Query(
        "Q3.1",
        "select c_nation, s_nation, d_year, sum(lo_revenue) as revenue\n"
        + _FLIGHT_3_FROM
        + "  and c_region = '{region}' and s_region = '{region}'"
        + _SIX_YEARS
        + "\ngroup by c_nation, s_nation, d_year\norder by d_year asc, revenue desc",
        {"region": "ASIA", "first_year": 1992, "last_year": 1997},
        _draw_q31,
        (1 / 25) * (6 / 7),
        (2, 3),
    ),
    Query(
        "Q3.2",
        _FLIGHT_3_CITIES
        + "  and c_nation = '{nation}' and s_nation = '{nation}'"
        + _SIX_YEARS
        + _FLIGHT_3_CITIES_END,
        {"nation": "UNITED STATES", "first_year": 1992, "last_year": 1997},
        _draw_q32,
        (1 / 625) * (6 / 7),
        (2, 3),
    ),
    Query(
        "Q3.3",
        _FLIGHT_3_CITIES + _TWO_CITIES + _SIX_YEARS + _FLIGHT_3_CITIES_END,
        {
            "city_one": "UNITED KI1",
            "city_two": "UNITED KI5",
            "first_year": 1992,
            "last_year": 1997,
        },
        _draw_q33,
        (1 / 125) ** 2 * (6 / 7),
        (2, 3),
    ),
    Query(
        "Q3.4",
        _FLIGHT_3_CITIES + _TWO_CITIES + "\n  and d_yearmonth = '{month}'" + _FLIGHT_3_CITIES_END,
        {"city_one": "UNITED KI1", "city_two": "UNITED KI5", "month": "Dec1997"},
        _draw_q34,
        (1 / 125) ** 2 * (1 / 84),
        (2, 3),
    ),
    Query(
        "Q4.1",
        "select d_year, c_nation, sum(lo_revenue - lo_supplycost) as profit\n"
        + _FLIGHT_4_FROM
        + "  and c_region = '{region}' and s_region = '{region}'\n"
        "  and (p_mfgr = '{mfgr_one}' or p_mfgr = '{mfgr_two}')\n"
        "group by d_year, c_nation\norder by d_year, c_nation",
        {"region": "AMERICA", "mfgr_one": "MFGR#1", "mfgr_two": "MFGR#2"},
        _draw_q41,
        (1 / 25) * (2 / 5),
        (0, 1),
    ),
    Query(
        "Q4.2",
        "select d_year, s_nation, p_category, sum(lo_revenue - lo_supplycost) as profit\n"
        + _FLIGHT_4_FROM
        + "  and c_region = '{region}' and s_region = '{region}'\n"
        "  and (d_year = {year_one} or d_year = {year_two})\n"
        "  and (p_mfgr = '{mfgr_one}' or p_mfgr = '{mfgr_two}')\n"
        "group by d_year, s_nation, p_category\norder by d_year, s_nation, p_category",
        {
            "region": "AMERICA",
            "year_one": 1997,
            "year_two": 1998,
            "mfgr_one": "MFGR#1",
            "mfgr_two": "MFGR#2",
        },
        _draw_q42,
        (1 / 25) * (2 / 7) * (2 / 5),
        (0, 1, 2),
    ),
    Query(
        "Q4.3",
        "select d_year, s_city, p_brand1, sum(lo_revenue - lo_supplycost) as profit\n"
        + _FLIGHT_4_FROM
        + "  and c_region = '{region}' and s_nation = '{nation}'\n"
        "  and (d_year = {year_one} or d_year = {year_two})\n"
        "  and p_category = '{category}'\n"
        "group by d_year, s_city, p_brand1\norder by d_year, s_city, p_brand1",
        {
            "region": "AMERICA",
            "nation": "UNITED STATES",
            "year_one": 1997,
            "year_two": 1998,
            "category": "MFGR#14",
        },
        _draw_q43,
        (1 / 5) * (1 / 25) * (2 / 7) * (1 / 25),
        (0, 1, 2),
    ),
)
