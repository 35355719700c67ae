"""The words that SSB's text columns are made of: nations, colours, part types, calendar names.

Cardinalities are the paper's (5 regions of 5 nations, 94 colours, 150 types, 40 containers, …).
The order of a list is part of the data: changing it changes what a seed generates.
"""

from __future__ import annotations

from typing import Final

# Five nations a region, as in TPC-H; a city is the nation cut or padded to 9 characters + a digit.
REGIONS: Final[dict[str, tuple[str, ...]]] = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
NATIONS: Final = tuple(nation for nations in REGIONS.values() for nation in nations)
REGION_OF_NATION: Final = tuple(region for region, nations in REGIONS.items() for _ in nations)
CITIES_PER_NATION: Final = 10

MKTSEGMENTS: Final = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES: Final = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECI", "5-LOW")
SHIPMODES: Final = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")

# fmt: off
COLORS: Final = (
    "almond", "antique", "aquamarine", "azure", "beige", "bisque", "black", "blanched",
    "blue", "blush", "brown", "burlywood", "burnished", "chartreuse", "chiffon", "chocolate",
    "coral", "cornflower", "cornsilk", "cream", "cyan", "dark", "deep", "dim", "dodger", "drab",
    "firebrick", "floral", "forest", "frosted", "gainsboro", "ghost", "gold", "goldenrod",
    "green", "grey", "honeydew", "hot", "indian", "ivory", "khaki", "lace", "lavender", "lawn",
    "lemon", "light", "lime", "linen", "magenta", "maroon", "medium", "metallic", "midnight",
    "mint", "misty", "moccasin", "navajo", "navy", "olive", "orange", "orchid", "pale",
    "papaya", "peach", "peru", "pink", "plum", "powder", "puff", "purple", "red", "rose",
    "rosy", "royal", "saddle", "salmon", "sandy", "seashell", "sienna", "sky", "slate", "smoke",
    "snow", "spring", "steel", "tan", "teal", "thistle", "tomato", "turquoise", "violet",
    "wheat", "white", "yellow",
)
# fmt: on
TYPES: Final = tuple(
    f"{size} {finish} {metal}"
    for size in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for finish in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for metal in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
)
CONTAINERS: Final = tuple(
    f"{size} {shape}"
    for size in ("SM", "LG", "MED", "JUMBO", "WRAP")
    for shape in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
)
MFGRS: Final = tuple(f"MFGR#{m}" for m in range(1, 6))
CATEGORIES: Final = tuple(f"{mfgr}{c}" for mfgr in MFGRS for c in range(1, 6))
BRANDS_PER_CATEGORY: Final = 40
BRANDS: Final = tuple(f"{c}{b}" for c in CATEGORIES for b in range(1, BRANDS_PER_CATEGORY + 1))

# Python's calendar names follow the locale, so we keep our own.
WEEKDAYS: Final = (
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
)
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
# By month number; the weeks before Christmas are a season of their own.
SEASONS: Final = (
    ("Winter",) * 3 + ("Spring",) * 2 + ("Summer",) * 3 + ("Fall",) * 2 + ("Christmas",) * 2
)
HOLIDAYS: Final = frozenset(
    {(1, 1), (2, 14), (3, 17), (5, 1), (7, 4), (9, 7), (10, 31), (11, 11), (12, 24), (12, 25)}
)


def cities(nation: str) -> tuple[str, ...]:
    """The ten cities of a nation, `UNITED KI0` … `UNITED KI9`."""
    return tuple(f"{nation[:9]:<9}{digit}" for digit in range(CITIES_PER_NATION))


CITIES: Final = tuple(city for nation in NATIONS for city in cities(nation))
