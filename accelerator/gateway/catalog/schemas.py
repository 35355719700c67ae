"""The tables that catalogs have of themselves: their names, columns and types, as Trino has them.

`information_schema` is in each catalog, the others are in the catalog `system`. The query log is
listed here, and answered as a table is (`accelerator/query/virtual_tables/`).
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from msgspec import Struct

from accelerator.store.journals.query_log.record import COLUMNS, Kind

INFORMATION_SCHEMA = "information_schema"
SYSTEM = "system"

_TIME = "timestamp(3) with time zone"
_ARROW = {
    "varchar": pa.string(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "array(varchar)": pa.list_(pa.string()),
    _TIME: pa.timestamp("ms", tz="UTC"),
    "timestamp(9) with time zone": pa.timestamp("ms", tz="UTC"),  # no row has one
}


class TrinoTable(Struct, frozen=True):
    """Columns by name with Trino's types; those that `*` doesn't stand for are `hidden`."""

    columns: Mapping[str, str]
    hidden: frozenset[str] = frozenset()

    @property
    def shown(self) -> Mapping[str, str]:
        """The columns that `*` stands for."""
        return {name: type_ for name, type_ in self.columns.items() if name not in self.hidden}

    def schema(self, *, hidden: bool) -> pa.Schema:
        """As Arrow has it, with or without the hidden columns."""
        told = self.columns if hidden else self.shown
        return pa.schema([(name, _ARROW[type_]) for name, type_ in told.items()])


def _table(text: str, hidden: str = "") -> TrinoTable:
    """Columns with commas between them; a varchar where no type is said."""
    columns = {}
    for one in (*text.split(","), *hidden.split(",")):
        name, _, type_ = one.strip().partition(" ")
        if name:
            columns[name] = type_ or "varchar"
    return TrinoTable(columns, frozenset(hidden.replace(",", " ").split()))


_PROPERTIES = _table("catalog_name, property_name, default_value, type, description")

_INFORMATION = {
    "applicable_roles": _table("grantee, grantee_type, role_name, is_grantable"),
    "columns": _table(
        "table_catalog, table_schema, table_name, column_name, ordinal_position bigint,"
        "column_default, is_nullable, data_type",
        hidden="comment, extra_info, column_comment",
    ),
    "enabled_roles": _table("role_name"),
    "roles": _table("role_name"),
    "schemata": _table("catalog_name, schema_name"),
    "table_privileges": _table(
        "grantor, grantor_type, grantee, grantee_type, table_catalog, table_schema, table_name,"
        "privilege_type, is_grantable, with_hierarchy"
    ),
    "tables": _table(
        "table_catalog, table_schema, table_name, table_type",
        hidden="trino_relation_type, table_comment",
    ),
    "views": _table("table_catalog, table_schema, table_name, view_definition"),
}
_JDBC = {
    "attributes": _table(
        "type_cat, type_schem, type_name, attr_name, data_type bigint, attr_type_name,"
        "attr_size bigint, decimal_digits bigint, num_prec_radix bigint, nullable bigint, remarks,"
        "attr_def, sql_data_type bigint, sql_datetime_sub bigint, char_octet_length bigint,"
        "ordinal_position bigint, is_nullable, scope_catalog, scope_schema, scope_table,"
        "source_data_type bigint"
    ),
    "catalogs": _table("table_cat"),
    "columns": _table(
        "table_cat, table_schem, table_name, column_name, data_type bigint, type_name,"
        "column_size bigint, buffer_length bigint, decimal_digits bigint, num_prec_radix bigint,"
        "nullable bigint, remarks, column_def, sql_data_type bigint, sql_datetime_sub bigint,"
        "char_octet_length bigint, ordinal_position bigint, is_nullable, scope_catalog,"
        "scope_schema, scope_table, source_data_type bigint, is_autoincrement, is_generatedcolumn"
    ),
    "procedure_columns": _table(
        "procedure_cat, procedure_schem, procedure_name, column_name, column_type bigint,"
        "data_type bigint, type_name, precision bigint, length bigint, scale bigint, radix bigint,"
        "nullable bigint, remarks, column_def, sql_data_type bigint, sql_datetime_sub bigint,"
        "char_octet_length bigint, ordinal_position bigint, is_nullable, specific_name"
    ),
    "procedures": _table(
        "procedure_cat, procedure_schem, procedure_name, remarks, procedure_type bigint,"
        "specific_name"
    ),
    "pseudo_columns": _table(
        "table_cat, table_schem, table_name, column_name, data_type bigint, column_size bigint,"
        "decimal_digits bigint, num_prec_radix bigint, column_usage, remarks,"
        "char_octet_length bigint, is_nullable bigint"
    ),
    "schemas": _table("table_schem, table_catalog"),
    "super_tables": _table("table_cat, table_schem, table_name, supertable_name"),
    "super_types": _table(
        "type_cat, type_schem, type_name, supertype_cat, supertype_schem, supertype_name"
    ),
    "table_types": _table("table_type"),
    "tables": _table(
        "table_cat, table_schem, table_name, table_type, remarks, type_cat, type_schem, type_name,"
        "self_referencing_col_name, ref_generation"
    ),
    "types": _table(
        "type_name, data_type bigint, precision bigint, literal_prefix, literal_suffix,"
        "create_params, nullable bigint, case_sensitive boolean, searchable bigint,"
        "unsigned_attribute boolean, fixed_prec_scale boolean, auto_increment boolean,"
        "local_type_name, minimum_scale bigint, maximum_scale bigint, sql_data_type bigint,"
        "sql_datetime_sub bigint, num_prec_radix bigint"
    ),
    "udts": _table("type_cat, type_schem, type_name, class_name, data_type, remarks, base_type"),
}
_METADATA = {
    "analyze_properties": _PROPERTIES,
    "catalogs": _table("catalog_name, connector_id, connector_name"),
    "column_properties": _PROPERTIES,
    "materialized_view_properties": _PROPERTIES,
    "materialized_views": _table(
        "catalog_name, schema_name, name, storage_catalog, storage_schema, storage_table,"
        "freshness, last_fresh_time timestamp(9) with time zone, comment, definition"
    ),
    "schema_properties": _PROPERTIES,
    "table_comments": _table("catalog_name, schema_name, table_name, comment"),
    "table_properties": _PROPERTIES,
}
_OF_LOG: Mapping[Kind, str] = {
    "text": "varchar",
    "texts": "array(varchar)",
    "count": "bigint",
    "counts": "array(bigint)",
    "number": "double",
    "flag": "boolean",
    "time": "timestamp(6) with time zone",
}
_RUNTIME = {
    "nodes": _table(
        "node_id, http_uri, node_version, coordinator boolean, state, node_groups array(varchar)"
    ),
    "queries": _table(
        "query_id, state, user, source, query, resource_group_id array(varchar),"
        "queued_time_ms bigint, analysis_time_ms bigint, planning_time_ms bigint,"
        f"created {_TIME}, started {_TIME}, last_heartbeat {_TIME}, end {_TIME},"
        "error_type, error_code"
    ),
    "tasks": _table(
        "node_id, task_id, stage_id, query_id, state, splits bigint, queued_splits bigint,"
        "running_splits bigint, completed_splits bigint, split_scheduled_time_ms bigint,"
        "split_cpu_time_ms bigint, split_blocked_time_ms bigint, raw_input_bytes bigint,"
        "raw_input_rows bigint, processed_input_bytes bigint, processed_input_rows bigint,"
        "output_bytes bigint, output_rows bigint, physical_input_bytes bigint,"
        f"physical_written_bytes bigint, created {_TIME}, start {_TIME}, last_heartbeat {_TIME},"
        f"end {_TIME}"
    ),
    "query_log": TrinoTable({one.name: _OF_LOG[one.kind] for one in COLUMNS}),
    "transactions": _table(
        "transaction_id, isolation_level, read_only boolean, auto_commit_context boolean,"
        f"create_time {_TIME}, idle_time_secs bigint, written_catalog, catalogs array(varchar)"
    ),
}
_OF_SYSTEM = {
    INFORMATION_SCHEMA: _INFORMATION,
    "jdbc": _JDBC,
    "metadata": _METADATA,
    "runtime": _RUNTIME,
}


def virtual_schemas(catalog: str) -> Mapping[str, Mapping[str, TrinoTable]]:
    """Those of the catalog, with their tables."""
    return _OF_SYSTEM if catalog == SYSTEM else {INFORMATION_SCHEMA: _INFORMATION}


def is_virtual(catalog: str, schema: str) -> bool:
    """Whether all tables of that schema are virtual ones."""
    return catalog == SYSTEM or schema == INFORMATION_SCHEMA
