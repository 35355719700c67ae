"""Why something was not done: stable codes, one table of them, each with a sentence.

A code never changes its meaning; a new case gets a new code. `docs/reference/reasons.md` has a
section for each, held by a test.
"""

from __future__ import annotations

import re

from msgspec import Struct

CATALOG_NEEDS_SPARK = "catalog_needs_spark"
REASONS: dict[str, str] = {
    "aggregate_not_in_cube": "The cube stores no state that this aggregate follows from.",
    "aggregate_unsupported": "The aggregate has no mergeable state.",
    "answered": "Nothing stands in the way: the statement is answered without Spark.",
    "block_unsupported": "The statement isn't one SELECT over tables and joins.",
    CATALOG_NEEDS_SPARK: "Only Spark is certain to know what the statement shows.",
    "column_not_in_cube": "A group key or predicate needs a column that isn't a dimension.",
    "columns_not_by_id": "A data file's columns can't be told by field ids, or their types differ.",
    "column_unknown": "A column isn't one of the tables that its SELECT reads.",
    "cover_unavailable": "No cube has a valid segment for the files of this statement.",
    "cube_disabled": "The cube was switched off.",
    "cubes_none": "There is no cube on any table of the statement.",
    "dearer": "Another cube answers by reading fewer bytes.",
    "dimension_changed": "A dimension table has another snapshot than the segment was built from.",
    "disabled": "Acceleration is switched off by configuration or by the hint PLAIN.",
    "engine_failed": "The accelerated plan failed while running; the plain query answered.",
    "engine_unavailable": "The plan needs an engine that is switched off or can't start.",
    "equality_deletes": "A file has equality deletes, which only Spark applies.",
    "expression_not_proven": "An expression isn't proven to mean the same outside Spark.",
    "expression_unsupported": "An expression isn't supported here.",
    "fact_null_supplying": "The cube's fact table stands on the null-supplying side of a join.",
    "fact_not_in_query": "The cube's fact table isn't in the statement.",
    "file_deletes": "Rows were deleted from a file, so what its manifest says holds of more rows.",
    "file_outside": "A data file lies outside of its table's locations, or behind a link.",
    "file_mixed": "Some rows of a file may pass and others not, as far as its manifest tells.",
    "files_changed": "A segment's data file is no longer live, or has other deletes.",
    "float_order": "What plain Spark answers depends on where −0.0 or NaN lies in the files.",
    "folded_null": "Plain Spark may fail inside, for a comparison that it finds to be NULL.",
    "index_disabled": "The index was switched off.",
    "index_lacks": "No index tells which rows of a file pass and what they hold.",
    "index_none": "There is no index on a column that the statement looks for.",
    "index_unreadable": "An index can't be read; what it would have left out is read.",
    "join_differs": "A join of the cube doesn't follow from the statement.",
    "join_not_counted": "A join of the cube can't be left out: rows without a partner, or several.",
    "join_unsupported": "A join is of a kind that isn't matched: full, anti, natural, some semi.",
    "location_refused": "A table's location is a folder that DuckDB may not read.",
    "manifest_job_failed": "The Spark job that decodes manifests failed; they were decoded here.",
    "may_raise": "A predicate can raise an error, so it is matched only whole.",
    "memory_exceeded": "It needs more memory, or spills more, than a statement in process may.",
    "metadata_contradicts": "A file's bounds don't prove the value that its partition says.",
    "metadata_lacks": "The manifests don't tell a group key or an aggregate of the statement.",
    "metadata_no_file": "No data file is answered or left out by what its manifest says.",
    "metadata_one_table": "Only a table that stands alone is answered from its manifests.",
    "metadata_unavailable": "A table's metadata couldn't be read by the layer.",
    "name_ambiguous": "A name could mean an output or an input column.",
    "log_alone": "The query log is answered in process beside nothing but itself.",
    "log_cut": "The query log has more rows than one query reads: the newest were read.",
    "limit_unordered": "LIMIT has no ORDER BY of its own, and a SELECT below it has one.",
    "no_aggregate": "The statement has neither aggregates nor GROUP BY, nor is it of one table.",
    "not_a_query": "The statement is no SELECT.",
    "not_built": "No build has covered the file.",
    "not_indexable": "The index could keep nothing of the file, which is always read.",
    "object_by_pyiceberg": "PyIceberg reads the table's files from their object store.",
    "parse_failed": "The statement couldn't be parsed here; Spark takes it as it is.",
    "plain_pruning": "What plain Spark answers depends on how Iceberg leaves out its files.",
    "planning_failed": "The layer failed while planning; the plain query answered.",
    "predicate_not_implied": "The cube keeps only some rows, and the statement may need others.",
    "row_raised": "An expression raised while the accelerated plan ran; the plain query decides.",
    "rows_need_spark": "A data file's rows can't be read in process as Spark reads them.",
    "schema_changed": "A column's type or nullability changed after the segment was built.",
    "segment_unreadable": "A segment is missing, or of a format that this release doesn't know.",
    "semi_not_unique": "The right side of a semi join, IN or EXISTS isn't proven to have each key"
    " once.",
    "session_extended": "The session has rules of an extension, which may filter or mask rows.",
    "settings_unsupported": "The session has a setting under which SQL means something else.",
    "sort_not_bounded": "The first sort key isn't a column of a type that has bounds.",
    "statement_too_deep": "The text is too long or nested too deeply to be parsed here.",
    "store_unavailable": "The store can't be read.",
    "table_needs_spark": "A table can't be read here: Spark reads it, or says why not.",
    "table_not_in_cube": "The statement joins a table that the cube doesn't have.",
    "table_replaced": "A table was dropped and made anew since the cube or index was made.",
    "table_unknown": "A table of the statement isn't an Iceberg table of the session.",
    "view_unsupported": "A view isn't read as the SELECT that it stands for.",
}


_PHRASES = {
    "aggregate_not_in_cube": "no {} stored",
    "column_not_in_cube": "{} isn't a dimension",
    "column_unknown": "{}",
    "cover_unavailable": "{}",
    "dearer": "not asked: {}",
    "metadata_lacks": "manifests don't tell {}",
    "predicate_not_implied": "{}",
    "table_not_in_cube": "{} isn't in it",
}
"""Of codes whose detail says it all, in the statement's own words."""
_BEGINS = re.compile(r"[A-Z][a-z]*(?:'[a-z]+)?(?![\w.])")
_HERE = "Here: "


class Declined(Struct, frozen=True):
    """What was considered and not used: a code of `REASONS`, and this case's detail."""

    code: str
    detail: str = ""

    def __post_init__(self) -> None:
        if self.code not in REASONS:
            raise ValueError(f"unknown reason code {self.code!r}")

    @property
    def sentence(self) -> str:
        """The code's sentence, with the case's detail behind it."""
        return f"{REASONS[self.code]} {self.detail}".strip()

    @property
    def phrase(self) -> str:
        """The same in few words, to stand behind a name, e.g. `no sum(price) stored`."""
        short, what = _PHRASES.get(self.code), _within(self.detail)
        if short is not None and what:
            return short.format(what)
        whole = _within(REASONS[self.code])
        return f"{whole}: {what}" if what else whole

    @property
    def line(self) -> str:
        """The code and the sentence."""
        return f"{self.code}: {self.sentence}"


def _within(text: str) -> str:
    """A sentence as it stands within another one."""
    text = text.strip().removesuffix(".")
    if text.startswith(_HERE):  # the statement's own words
        return text.removeprefix(_HERE)
    return text[:1].lower() + text[1:] if _BEGINS.match(text) else text


class DeclinedError(Exception):
    """Carries a `Declined` out of a deep recursion to the one place that records it.

    Of a column's name that isn't known, or is several columns', `name` is that, and `near` are the
    closest ones.
    """

    def __init__(
        self, code: str, detail: str = "", *, name: str = "", near: tuple[str, ...] = ()
    ) -> None:
        self.declined = Declined(code, detail)
        self.name, self.near = name, near
        super().__init__(code, detail)

    def __str__(self) -> str:
        return self.declined.sentence
