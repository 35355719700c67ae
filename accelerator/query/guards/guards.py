"""Guards: queries that are refused before anything runs, by settings that are off by default.

`docs/reference/guards.md` says what each refuses. What can't be told of a query counts in its
favour, except that a text that can't be read here is refused: a guard that lets pass what it can't
read is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.common.config.config import Config
from accelerator.engines.session_settings import SessionContext, refusal
from accelerator.errors import (
    BytesGuardError,
    CrossJoinGuardError,
    FilesGuardError,
    FunctionArgumentError,
    PartitionGuardError,
    RowsGuardError,
    SortGuardError,
    UnreadableGuardError,
)
from accelerator.iceberg import Lake
from accelerator.query.guards.scan_estimate import QueriedTable, ScanEstimate, named_tables, scanned
from rewrite.analysis.query_form import cross_join, filters_by, hides_tables, only_sorts, uses
from rewrite.bind.calls.known_words import constant_needles
from rewrite.client import SPARK
from rewrite.parse.bounds import tokens_of
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.text.first_look import comments, first_word

_HAS_TOKEN = re.compile(r"\bhas_token\b", re.IGNORECASE)


class Guards:
    """The guards of a session; threads may share it."""

    def __init__(self, config: Config, lake: Lake, context: SessionContext) -> None:
        self._config, self._lake, self._context = config, lake, context

    def check(self, sql: str, user: str | None = None, *, written: str | None = None) -> None:
        """Raises the `GuardError` of the first guard that refuses the query.

        `written` is it before it was translated, by default the same: a comment may exempt it.
        FunctionArgumentError for what no `has_token` looks for, before anything reads a row.
        """
        self._check_needles(sql)
        if not self._config.has_guards or self._is_exempt(written or sql, user):
            return
        if first_word(sql).text == "FROM" and _inserts(sql):
            return
        tree = self._parsed(sql)
        if isinstance(tree, exp.Insert):  # WITH … INSERT: a query by its first word only
            return
        with self._context.statement():
            named = list(named_tables(tree, self._lake.pin(), self._context))
            exempt = frozenset(name.lower() for name in self._config.guard_exempt_tables)
            held = [n for n in named if n.pinned.facts.name.lower() not in exempt]
            if named and not held and len(named) == len(list(uses(tree))):
                return
            self._check_form(tree)
            if self._config.guard_partitions:
                _check_partitions(held)
            if self._config.has_limits:
                self._check_limits(held)

    def _check_needles(self, sql: str) -> None:
        if not _HAS_TOKEN.search(sql) or refusal(self._context.settings(), sql) is not None:
            return
        try:
            tree = parse(sql)
        except PARSER_FAILS:
            return  # Spark says what is wrong with it
        for needle in constant_needles(tree):
            from indexes.domains import NotIndexableError  # imports Arrow
            from indexes.text.tokens import NEEDLE_HINT, NeedleError, one_token

            try:
                one_token(needle)
            except NeedleError as error:
                raise FunctionArgumentError(str(error), hint=NEEDLE_HINT) from error
            except NotIndexableError as error:
                hint = "install it, or ask for a word without ideographs"
                raise FunctionArgumentError(str(error), hint=hint) from error

    def _is_exempt(self, sql: str, user: str | None) -> bool:
        config = self._config
        asking = user if user is not None else config.user
        if asking is not None and asking in config.guard_exempt_users:
            return True
        word = config.guard_exempt_comment
        return word is not None and any(word in comment for comment in comments(sql))

    def _parsed(self, sql: str) -> exp.Expression:
        first = first_word(sql)
        text = f"SELECT * FROM {sql[first.end :]}" if first.text == "TABLE" else sql
        try:
            tree = parse(text)
        except PARSER_FAILS as error:
            told = str(error).splitlines() or [type(error).__name__]
            raise UnreadableGuardError(
                f"the guards can't read the query: {told[0]}",
                hint="write it otherwise, or ask for an exemption",
            ) from error
        if hides_tables(tree):
            raise UnreadableGuardError(
                "the guards can't read the query: IDENTIFIER or TABLE(…) names a table of it",
                hint="write the table's name, or ask for an exemption",
            )
        if isinstance(tree, (exp.Query, exp.Values, exp.Insert)):
            return tree
        raise UnreadableGuardError(
            "the guards can't read the query: the parser finds no SELECT in it",
            hint="write it otherwise, or ask for an exemption",
        )

    def _check_form(self, tree: exp.Expression) -> None:
        apart = cross_join(tree) if self._config.guard_cross_joins else None
        if apart is not None:
            raise CrossJoinGuardError(
                f"no predicate joins {apart}",
                hint="add a join predicate (ON, USING, or in WHERE) between them",
            )
        if self._config.guard_sorts and only_sorts(tree):
            raise SortGuardError(
                "the query sorts all of its rows", hint="add a LIMIT, or leave out the ORDER BY"
            )

    def _check_limits(self, named: Sequence[QueriedTable]) -> None:
        zone = self._context.settings().get("time_zone")
        found = [scanned(one, zone) or ScanEstimate() for one in named]
        config = self._config
        limits = (
            (BytesGuardError, "bytes", sum(f.bytes for f in found), config.guard_bytes_max),
            (FilesGuardError, "data files", sum(f.files for f in found), config.guard_files_max),
            (RowsGuardError, "rows", sum(f.rows for f in found), config.guard_rows_max),
        )
        for kind, what, number, limit in limits:
            if limit and number > limit:
                raise kind(
                    f"the query may read {number} {what} of its tables, and {limit} are allowed",
                    hint="add predicates that leave out data files, on partition columns at best",
                )


def _inserts(sql: str) -> bool:
    """Whether it's FROM … INSERT, maybe several times: the word comes before any SELECT."""
    try:
        tokens = tokens_of(sql, SPARK)
    except SqlglotError:
        return False
    depth = 0
    for token, behind in pairwise(tokens):
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0 and kind in ("SELECT", "PIPE_GT"):
            return False
        inserts = kind == "INSERT"
        if depth == 0 and inserts and behind.text.upper() in ("INTO", "OVERWRITE"):
            return True
    return False


def _check_partitions(named: Sequence[QueriedTable]) -> None:
    for one in named:
        columns = one.pinned.partition_columns
        if columns and not filters_by(one.use, tuple(columns.values())):
            raise PartitionGuardError(
                f"the query has no predicate on a partition column of {one.pinned.facts.name}",
                hint=f"add one on {' or '.join(columns)}, where the table is named",
            )
