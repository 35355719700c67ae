"""The statements that Trino's clients send about catalogs: JDBC, SQLAlchemy, dbt, people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.metadata_lake import OpenedLake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> OpenedLake:
    """Both catalogs, made once."""
    return OpenedLake(tmp_path_factory.mktemp("lake"))


_IS = "table_schema = 'shop' AND table_name = 'orders'"
_JDBC_TABLES = (
    "SELECT TABLE_CAT, TABLE_SCHEM, TABLE_NAME, TABLE_TYPE, REMARKS,\n  TYPE_CAT, TYPE_SCHEM,"
    " TYPE_NAME,   SELF_REFERENCING_COL_NAME, REF_GENERATION\nFROM system.jdbc.tables"
)
_JDBC_COLUMNS = (
    "SELECT TABLE_CAT, TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, DATA_TYPE,\n  TYPE_NAME,"
    " COLUMN_SIZE, BUFFER_LENGTH, DECIMAL_DIGITS, NUM_PREC_RADIX,\n  NULLABLE, REMARKS,"
    " COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB,\n  CHAR_OCTET_LENGTH, ORDINAL_POSITION,"
    " IS_NULLABLE,\n  SCOPE_CATALOG, SCOPE_SCHEMA, SCOPE_TABLE,\n  SOURCE_DATA_TYPE,"
    " IS_AUTOINCREMENT, IS_GENERATEDCOLUMN\nFROM system.jdbc.columns"
)
_ORDER_T = "\nORDER BY TABLE_TYPE, TABLE_CAT, TABLE_SCHEM, TABLE_NAME"
_ORDER_C = "\nORDER BY TABLE_CAT, TABLE_SCHEM, TABLE_NAME, ORDINAL_POSITION"
_CATALOG_OF_DBT = """
    with tables as (
        select table_catalog as "table_database", table_schema as "table_schema",
            table_name as "table_name", table_type as "table_type", null as "table_owner"
        from "lake".INFORMATION_SCHEMA.tables
        where table_schema != 'information_schema' and table_schema in ('shop', 'empty')
    ), columns as (
        select table_catalog as "table_database", table_schema as "table_schema",
            table_name as "table_name", column_name as "column_name",
            ordinal_position as "column_index", data_type as "column_type",
            comment as "column_comment"
        from "lake".INFORMATION_SCHEMA.columns
        where table_schema != 'information_schema' and table_schema in ('shop', 'empty')
    ), table_comment as (
        select catalog_name as "table_database", schema_name as "table_schema",
            table_name as "table_name", comment as "table_comment"
        from system.metadata.table_comments
        where catalog_name = 'lake' and schema_name != 'information_schema'
            and schema_name = 'shop'
        union all
        select catalog_name as "table_database", schema_name as "table_schema",
            table_name as "table_name", comment as "table_comment"
        from system.metadata.table_comments
        where catalog_name = 'lake' and schema_name != 'information_schema'
            and schema_name = 'empty'
    )
    select table_database, table_schema, table_name, table_type, table_owner, column_name,
        column_index, column_type, column_comment, table_comment
    from tables
    join columns using ("table_database", "table_schema", "table_name")
    join table_comment using ("table_database", "table_schema", "table_name")
    order by "column_index"
"""
_RELATIONS_OF_DBT = """
    select t.table_catalog as database, t.table_name as name, t.table_schema as schema,
      case when mv.name is not null then 'materialized_view'
           when t.table_type = 'BASE TABLE' then 'table'
           when t.table_type = 'VIEW' then 'view'
           else t.table_type
      end as table_type
    from "lake".INFORMATION_SCHEMA.tables t
    left join (
            select * from system.metadata.materialized_views
            where catalog_name = 'lake' and schema_name = 'shop') mv
          on mv.catalog_name = t.table_catalog and mv.schema_name = t.table_schema
             and mv.name = t.table_name
    where t.table_schema = 'shop'
"""
_CLIENTS: list[tuple[str, str, Any]] = [
    # SQLAlchemy's dialect, with which Superset comes
    (
        "columns",
        'SELECT "column_name", "data_type", "column_default",'
        ' UPPER("is_nullable") AS "is_nullable", "comment" FROM "information_schema"."columns"'
        " WHERE \"table_schema\" = 'shop'"
        ' AND "table_name" = \'Wide\' ORDER BY "ordinal_position" ASC LIMIT 2',
        [
            ("id", "bigint", None, "NO", "the key"),
            ("at", "timestamp(6) with time zone", None, "YES", None),
        ],
    ),
    (
        "catalogs",
        'SELECT "table_cat" FROM "system"."jdbc"."catalogs"',
        [("bank",), ("lake",), ("system",)],
    ),
    ("schemas", 'SELECT "schema_name" FROM "information_schema"."schemata"', 4),
    (
        "views",
        'SELECT "table_name" FROM "information_schema"."tables" WHERE "table_schema" = \'shop\''
        " AND \"table_type\" = 'VIEW'",
        [("counted",)],
    ),
    (
        "view",
        'SELECT "view_definition" FROM "information_schema"."views" WHERE "table_schema" = \'shop\''
        " AND \"table_name\" = 'counted'",
        [("SELECT count(*) AS n FROM orders",)],
    ),
    (
        "comment",
        'SELECT "comment" FROM "system"."metadata"."table_comments" WHERE "catalog_name" = \'lake\''
        " AND \"schema_name\" = 'shop' AND \"table_name\" = 'days'",
        [("it's the days",)],
    ),
    ("schema", "SELECT schema_name FROM information_schema.schemata WHERE schema_name = 'x'", []),
    ("table", f"SELECT table_name FROM information_schema.tables WHERE {_IS}", [("orders",)]),
    # dbt
    (
        "columns of dbt",
        'select column_name, data_type from "lake".INFORMATION_SCHEMA.columns where'
        f" table_catalog = 'lake' and {_IS}",
        [("k", "bigint"), ("s", "varchar")],
    ),
    ("relations of dbt", _RELATIONS_OF_DBT, 4),
    ("catalog of dbt", _CATALOG_OF_DBT, 11),
    ("schemas of dbt", 'select schema_name from "lake".INFORMATION_SCHEMA.schemata', 4),
    (
        "schema of dbt",
        "select count(*) from \"lake\".INFORMATION_SCHEMA.schemata where catalog_name = 'lake'"
        " and schema_name = 'shop'",
        [(1,)],
    ),
    (
        "pattern of dbt",
        'select distinct table_schema as "table_schema", table_name as "table_name",'
        " case table_type when 'BASE TABLE' then 'table' when 'EXTERNAL TABLE' then 'external' else"
        ' lower(table_type) end as "table_type" from lake.information_schema.tables'
        " where table_schema like 'sho_' and table_name like '%d%' and table_name not like 'day%'",
        [("shop", "Wide", "table"), ("shop", "counted", "view"), ("shop", "orders", "table")],
    ),
    # JDBC's DatabaseMetaData, with which DBeaver and others come
    ("JDBC", "SELECT TABLE_CAT\nFROM system.jdbc.catalogs\nORDER BY TABLE_CAT", 3),
    (
        "JDBC",
        "SELECT TABLE_SCHEM, TABLE_CATALOG\nFROM system.jdbc.schemas\nWHERE TABLE_CATALOG = 'bank'"
        " AND TABLE_SCHEM LIKE 's%' ESCAPE '\\'\nORDER BY TABLE_CATALOG, TABLE_SCHEM",
        [("shop", "bank")],
    ),
    ("JDBC", "SELECT TABLE_SCHEM, TABLE_CATALOG\nFROM system.jdbc.schemas", 12),
    (
        "JDBC",
        f"{_JDBC_TABLES}\nWHERE TABLE_CAT = 'lake' AND TABLE_SCHEM LIKE 'shop' ESCAPE '\\' AND"
        f" TABLE_NAME LIKE 'o\\_%' ESCAPE '\\' AND TABLE_TYPE IN ('TABLE', 'VIEW'){_ORDER_T}",
        [],
    ),
    (
        "JDBC",
        f"{_JDBC_TABLES}\nWHERE TABLE_NAME LIKE 'orders' ESCAPE '\\' AND TABLE_TYPE IN ('TABLE')"
        f"{_ORDER_T}",
        [
            (catalog, schema, "orders", "TABLE", *(None,) * 6)
            for catalog in ("bank", "lake")
            for schema in ("my.own", "shop")
        ],
    ),
    ("JDBC", f"{_JDBC_TABLES}\nWHERE TABLE_CAT IS NULL AND false{_ORDER_T}", []),
    (
        "JDBC",
        f"{_JDBC_COLUMNS}\nWHERE TABLE_CAT = 'lake' AND TABLE_SCHEM LIKE 'shop' ESCAPE '\\' AND"
        f" TABLE_NAME LIKE 'Wide' ESCAPE '\\' AND COLUMN_NAME LIKE 'p%' ESCAPE '\\'{_ORDER_C}",
        [
            (
                *("lake", "shop", "Wide", "price", 3, "decimal(10,2)", 10, 0, 2, 10, 2),
                *(None, None, None, None, None, 3, "", *(None,) * 6),
            )
        ],
    ),
    ("JDBC", "SELECT TABLE_TYPE\nFROM system.jdbc.table_types\nORDER BY TABLE_TYPE", 2),
    (
        "JDBC",
        "SELECT TYPE_NAME, DATA_TYPE, PRECISION, LITERAL_PREFIX, LITERAL_SUFFIX,\nCREATE_PARAMS,"
        " NULLABLE, CASE_SENSITIVE, SEARCHABLE, UNSIGNED_ATTRIBUTE,\nFIXED_PREC_SCALE,"
        " AUTO_INCREMENT, LOCAL_TYPE_NAME, MINIMUM_SCALE, MAXIMUM_SCALE,\nSQL_DATA_TYPE,"
        " SQL_DATETIME_SUB, NUM_PREC_RADIX\nFROM system.jdbc.types\nORDER BY DATA_TYPE",
        16,
    ),
    (
        "JDBC",
        "SELECT TYPE_CAT, TYPE_SCHEM, TYPE_NAME,\n  CLASS_NAME, DATA_TYPE, REMARKS, BASE_TYPE\n"
        "FROM system.jdbc.udts\nORDER BY DATA_TYPE, TYPE_CAT, TYPE_SCHEM, TYPE_NAME LIMIT 0",
        [],
    ),
    (
        "JDBC",
        "SELECT PROCEDURE_CAT, PROCEDURE_SCHEM, PROCEDURE_NAME,   COLUMN_NAME, COLUMN_TYPE,"
        " DATA_TYPE, TYPE_NAME,\n  PRECISION, LENGTH, SCALE, RADIX,\n  NULLABLE, REMARKS,"
        " COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB,\n  CHAR_OCTET_LENGTH, ORDINAL_POSITION,"
        " IS_NULLABLE, SPECIFIC_NAME\nFROM system.jdbc.procedure_columns\nORDER BY PROCEDURE_CAT,"
        " PROCEDURE_SCHEM, PROCEDURE_NAME, SPECIFIC_NAME, COLUMN_NAME LIMIT 0",
        [],
    ),
    (
        "JDBC",
        "SELECT TABLE_CAT, TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, DATA_TYPE,\n  COLUMN_SIZE,"
        " DECIMAL_DIGITS, NUM_PREC_RADIX, COLUMN_USAGE, REMARKS,\n  CHAR_OCTET_LENGTH,"
        " IS_NULLABLE\nFROM system.jdbc.pseudo_columns\nORDER BY TABLE_CAT, table_SCHEM,"
        " TABLE_NAME, COLUMN_NAME LIMIT 0",
        [],
    ),
    # what people write
    (
        "counted",
        "SELECT table_schema, count(*) AS n FROM information_schema.columns GROUP BY table_schema"
        " HAVING count(*) > 3 ORDER BY n DESC, 1 LIMIT 1",
        [("information_schema", 34)],
    ),
    ("any", "SELECT table_name FROM information_schema.tables ORDER BY rand() LIMIT 3", 3),
    (
        "NULLs are last",
        "SELECT table_name, comment FROM system.metadata.table_comments WHERE catalog_name = 'lake'"
        " AND schema_name = 'shop' ORDER BY comment DESC, table_name LIMIT 2",
        [("days", "it's the days"), ("Wide", None)],
    ),
    (
        "who has it and who hasn't",
        "SELECT a.table_name FROM lake.information_schema.tables a LEFT JOIN"
        " bank.information_schema.tables b ON b.table_name = a.table_name AND b.table_schema ="
        " 'my.own' WHERE a.table_schema = 'shop' AND b.table_name IS NULL ORDER BY 1",
        [("Wide",), ("counted",), ("days",)],
    ),
]


@pytest.mark.parametrize(("sql", "wanted"), [one[1:] for one in _CLIENTS], ids=range(len(_CLIENTS)))
def test_statements_of_clients(lake: OpenedLake, sql: str, wanted: Any) -> None:
    rows = lake.rows(sql)
    if isinstance(wanted, int):
        assert len(rows) == wanted
    else:
        ordered: Callable[[Any], Any] = (lambda x: x) if "ORDER BY" in sql else sorted
        assert ordered(rows) == wanted
