"""What a statement needs, and whether somebody may do that; before anything is planned or read.

Views are the asker's own doing: who reads one needs its tables too. So a view never gives more
than its reader has, whoever made it or changes it later, and the same holds for cubes that are
published. An object that isn't there and one that may not be used give the same error, and rules
are asked before any catalog is.

A view is read here and once more by the planner: one that is replaced in between by somebody who
changes the catalog is checked as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from accelerator.artifacts.relate.declaration import relate_columns
from accelerator.errors import UNFIT, AcceleratorError
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.grants import GATEWAY, Action, Object, UserAccess
from accelerator.gateway.access.rulings import note_allowed, note_refused
from accelerator.gateway.access.table_names import named
from accelerator.iceberg import NamedTable, Pin, PinnedTable
from accelerator.query.statements import nodes
from accelerator.query.statements.catalog import FORM_OF
from accelerator.query.statements.nodes import Statement, TableName
from accelerator.query.virtual_tables.log_table import NAME as LOG
from accelerator.query.virtual_tables.log_table import is_log
from accelerator.query.virtual_tables.spark_views import SUFFIX
from cubes.definition import from_dict
from rewrite.facts import ViewFacts
from rewrite.identifiers.qualified_name import joined, parts_of
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.text.spark_keywords import words

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services
    from accelerator.store import CubeRecord, IndexRecord, RegistryVersion

FullName = tuple[str, ...]
_PUBLISHED = "accelerator.published.cube"
_RELATIONS_MAX = 5_000
_VIEWS_MAX = 16
_STATES = ("branch_", "tag_", "snapshot_id_", "at_timestamp_")
_METADATA = words("""
    all_data_files all_delete_files all_entries all_files all_manifests changes data_files
    delete_files entries files history manifests metadata_log_entries partitions position_deletes
    refs rewrite snapshots
""")
"""Names behind a table's own by which Iceberg tells of it, or of its changes."""


def check(
    statement: Statement, access: UserAccess, services: Services
) -> frozenset[FullName] | None:
    """The full names of the tables and views that the statement reads, those under views too.

    None where they can't be told, so that no answer of it may be kept for others; that is only
    where everything is allowed.

    Raises:
        AccessDeniedError: it needs what isn't allowed or isn't there, or that can't be told.
        ConstraintError, RelateColumnError, UnknownColumnError: a constraint or relate column isn't
            there, or rests on what may not be read.
        CatalogError: a catalog can't be asked for what the rules allow.
    """
    asking = _Asking(access, services)
    try:
        asking.statement(statement)
    except AcceleratorError:
        if access.everything:  # what is wrong is told by what runs the statement
            return None
        raise
    return frozenset(asking.tables) if asking.is_whole else None


def check_read(access: UserAccess, services: Services, full: FullName) -> None:
    """Asks for all that reading the table or view of that full name needs.

    Raises:
        AccessDeniedError: the user may not read it or what is under it, or it isn't there.
        CatalogError: a catalog can't be asked for what the rules allow.
    """
    if access.everything:
        note_allowed("read", Object.table(full))
    else:
        _Asking(access, services).relation(full)


def may_be_explained(tables: frozenset[FullName], access: UserAccess, services: Services) -> bool:
    """Returns whether plans over these tables report nothing that the user may not read.

    Plans, reasons and names of what answers also come from cubes over the tables, and from relate
    columns. So this one question decides over EXPLAIN, the page, the log and the history.
    """
    if access.everything:
        return True
    asking = _Asking(access, services)
    asking.tables = set(tables)
    return not any(not access.may("read", Object.table(full)) for full in asking.tables_in_plans())


def denied(action: Action, object: Object) -> AccessDeniedError:
    """The one error for what may not be used and for what isn't there."""
    note_refused(action, object)
    if object == GATEWAY:
        return AccessDeniedError(
            f"that needs the right {action} on the gateway, which you don't have",
            hint="ask whoever keeps the gateway's policy",
        )
    return AccessDeniedError(
        f"there is no {object} that you may {action}",
        hint="check the name, or ask whoever keeps the gateway's policy",
    )


def _refused(why: str) -> AccessDeniedError:
    """The error for what can't be checked; the reason quotes no name."""
    return AccessDeniedError(
        f"it can't be told whether you may do that: {why}",
        hint="docs/reference/access.md says what is checked",
    )


class _Asking:
    """One statement's needs, each asked for as it's found."""

    def __init__(self, access: UserAccess, services: Services) -> None:
        self._access, self._services = access, services
        self._lake, self._pin = services.lake, services.lake.pin()
        self._case = services.context.settings().get("case_sensitive") == "true"
        self._catalogs = frozenset(services.lake.catalogs)
        self._seen: set[tuple[FullName, Action]] = set()
        self.tables: set[FullName] = set()
        self._added: set[tuple[FullName, str]] = set()
        """Relate columns that a statement before adds, as APPLY does before it indexes one."""
        self.is_whole = True

    @cached_property
    def _registry(self) -> RegistryVersion:
        return self._services.store.registry()

    def statement(self, statement: Statement) -> None:
        """Asks for all that it needs: one of ours by the method that its row names."""
        form = FORM_OF.get(type(statement))
        if isinstance(statement, nodes.Query):
            self._query(statement.bare)
        elif isinstance(statement, nodes.NotBuilt):
            if statement.table is not None:
                self._table("change", statement.table)
        elif isinstance(statement, nodes.Other):
            self._untold("it's neither a query nor a statement of the accelerator's own")
        elif form is None:
            raise _refused("the statement isn't known")
        else:
            getattr(self, form.rights or form.name)(statement)

    # Queries.

    def _query(self, sql: str) -> None:
        found = named(sql, case_sensitive=self._case)
        if found.untold:
            self._untold(found.untold)
        for parts in found.tables:
            if is_log(parts, self._catalogs):  # as SHOW QUERIES
                self.tables.add(LOG)
                continue
            if self._services.context.is_temporary(parts):
                self._untold("a view of the session hides a table's name")
                continue
            full = self._lake.resolve(parts)
            self._relation(full, Object.table(full), 0)

    def _relation(self, full: FullName, asked: Object, depth: int) -> None:
        """Reading a table, a view, or what Iceberg tells of a table behind its name."""
        if (full, "read") in self._seen:
            return
        self._seen.add((full, "read"))
        if len(self._seen) > _RELATIONS_MAX or depth > _VIEWS_MAX:
            self._untold("its views are nested too deeply")
            return
        bare = tuple(_without_suffix(part) for part in full)
        if bare != full:
            places = [i for i, part in enumerate(full) if part != bare[i]]
            self._read_table(bare[: places[0] + 1], asked)
            return
        if self._access.may("read", Object.table(full)):
            pinned = self._named_table(full)
            if pinned is not None:
                self._reads(full, pinned, asked)
                return
            view = self._view(full)
            if view is not None:
                self._need("read", Object.table(full), asked)
                self.tables.add(full)
                self._view_tables(view, asked, depth)
                return
        if len(full) > 2 and _is_of_table(full[-1]):
            self._read_table(full[:-1], asked)
            return
        self._absent("read", asked)

    def _view_tables(self, view: ViewFacts, asked: Object, depth: int) -> None:
        found = named(view.sql, case_sensitive=self._case)
        if found.untold:
            self._untold(found.untold)
        for parts in found.tables:
            self._relation(view.full(parts), asked, depth + 1)

    def _read_table(self, full: FullName, asked: Object) -> None:
        pinned = None
        if self._access.may("read", Object.table(full)):
            pinned = self._named_table(full)
        if pinned is None:
            self._absent("read", asked)
        else:
            self._reads(full, pinned, asked)

    def _reads(self, full: FullName, pinned: NamedTable, asked: Object) -> None:
        self._need("read", Object.table(full), asked)
        self.tables.add(full)
        cube = pinned.properties.get(_PUBLISHED)
        if cube is not None:
            record = self._registry.cubes.get(cube)
            if record is None:
                self._absent("read", asked)
            else:
                self._under_cube(record, "read", asked)

    def relation(self, full: FullName) -> None:
        """Asks for all that reading the table or view needs."""
        self._relation(full, Object.table(full), 0)

    def explain(self, statement: nodes.OfQuery) -> None:
        """Reading the tables of the query, and those that a plan may report."""
        self._query(statement.query.bare)
        for full in self.tables_in_plans():
            if not self._access.may("read", Object.table(full)):
                raise AccessDeniedError(
                    "explaining it would tell of more than you may read",
                    hint="run the query itself",
                )

    def tables_in_plans(self) -> list[FullName]:
        """The tables beside its own of which a plan reports: of cubes and of relate columns."""
        own = frozenset(self.tables)
        told: set[FullName] = set()
        for record in self._registry.cubes.values():
            under = tables_of(record)
            if under is None or not own.isdisjoint(under):
                told |= under or {UNREADABLE}
        for full in own:
            pinned = self._named_table(full)
            if pinned is not None:
                told |= dimensions(pinned)
        return sorted(told - own)

    # Cubes and indexes.

    def advice(self, statement: nodes.OfTables | nodes.Analyze) -> None:
        """Advice shows texts of everybody, and counts of values in tables that they name."""
        self._need("metrics", GATEWAY, GATEWAY)
        if statement.table is None:
            self._untold("advice for all tables tells of each of them")
        else:
            self._table("read", statement.table)

    def apply_recommendations(self, statement: nodes.ApplyRecommendations) -> None:
        """What each of the recommendations does; who is refused one isn't told which there are."""
        from accelerator.services.advisor.apply.allowed_ddl import statement_of
        from accelerator.services.advisor.apply.apply import actions_of

        self._need("metrics", GATEWAY, GATEWAY)
        if statement.table is not None:
            self._table("read", statement.table)
        for one in actions_of(self._services, statement):
            self.statement(statement_of(one))

    def create_cube(self, statement: nodes.CreateCube) -> None:
        """Managing the name, and reading what the cube reads."""
        record = self._manage_cube(statement.name, may_lack=True)
        if statement.replace:
            self._unpublish(record)
        self._query(statement.select_sql)

    def explain_create_cube(self, statement: nodes.EstimateCube) -> None:
        """Reading what the cube would read."""
        self._query(statement.cube.select_sql)

    def manage_cube(self, statement: nodes.OfCube) -> None:
        """Managing the cube, and reading its tables."""
        self._manage_cube(statement.name)

    def drop_cube(self, statement: nodes.DropCube) -> None:
        """The same, and changing its published table."""
        self._unpublish(self._manage_cube(statement.name))

    def _manage_cube(self, name: str, *, may_lack: bool = False) -> CubeRecord | None:
        asked = Object("cube", (name,))
        self._need("manage", asked, asked)
        record = self._registry.cubes.get(name)
        if record is not None:
            self._under_cube(record, "manage", asked)
        elif not may_lack:
            self._absent("manage", asked)
        return record

    def _under_cube(self, record: CubeRecord, action: Action, asked: Object) -> None:
        """Reading the cube's tables; errors tell of what was asked for alone."""
        under = tables_of(record)
        if under is None:
            self._absent(action, asked)
            return
        for full in sorted(under):
            self._under(full, action, asked)

    def _under(self, full: FullName, action: Action, asked: Object) -> None:
        table = Object.table(full)
        self.tables.add(full)
        if not self._access.may("read", table):
            raise denied(action, asked)
        note_allowed("read", table)

    def publish_cube(self, statement: nodes.PublishCube) -> None:
        """Needs the right to change the table that is made, too."""
        record = self._manage_cube(statement.name)
        target = statement.target
        if target is None and record is not None:
            if record.published is not None:
                target = tuple(record.published.split("."))
            else:
                target = (*parts_of(record.table)[:-1], f"{record.name}_cube")
        if target is not None:
            asked = Object.table(self._lake.resolve(target))
            self._need("change", asked, asked)
        self._unpublish(record)  # under another name, it drops the table that was there

    def _unpublish(self, record: CubeRecord | None) -> None:
        """Needs the right to change the cube's published table, which goes with the cube."""
        if record is not None and record.published is not None:
            published = Object.table(tuple(record.published.split(".")))
            self._need("change", published, Object("cube", (record.name,)))

    def undrop_cube(self, statement: nodes.UndropCube) -> None:
        """Managing the name that it had and the new one."""
        asked = Object("cube", (statement.name,))
        self._need("manage", asked, asked)
        if statement.new_name is not None:
            new = Object("cube", (statement.new_name,))
            self._need("manage", new, new)
        found = [one.cube for one in self._registry.bin if one.cube.name == statement.name]
        if not found:
            self._absent("manage", asked)
        else:
            self._under_cube(found[-1], "manage", asked)

    def create_index(self, statement: nodes.CreateIndex) -> None:
        """Managing the name, and reading the table; of a relate column the dimensions too."""
        self._manage_index(statement.name, may_lack=True)
        pinned, asked = self._table("read", statement.table)
        found = None if pinned is None else self._pin.described(pinned.parts)
        if pinned is None or found is None or found.facts.column(statement.column[0]) is not None:
            return
        name = ".".join(statement.column)
        if not self._sees_relate(pinned, name, asked):
            from accelerator.builds.sidecars.builder import no_indexed_column

            raise no_indexed_column(name, found.facts)

    def manage_index(self, statement: nodes.OfIndex) -> None:
        """Managing the index, and reading its tables."""
        self._manage_index(statement.name)

    def _manage_index(self, name: str, *, may_lack: bool = False) -> None:
        asked = Object("index", (name,))
        self._need("manage", asked, asked)
        record = self._registry.indexes.get(name)
        if record is None:
            if not may_lack:
                self._absent("manage", asked)
            return
        for full in sorted(self._of_index(record)):
            self._under(full, "manage", asked)

    def _of_index(self, record: IndexRecord) -> set[FullName]:
        """Its tables; its own alone where that may not be read, so that nobody looks for it."""
        full = parts_of(record.table)
        if not self._access.may("read", Object.table(full)):
            return {full}
        return tables_of_index(record, self._pin)

    def show_coverage(self, statement: nodes.ShowCoverage) -> None:
        """Reading every table under what is shown; of a table's artifacts others are left out."""
        if statement.table is not None:
            self._table("read", statement.table)
            return
        if statement.of == "cube":
            asked = Object("cube", (statement.name,))
            cube = self._registry.cubes.get(statement.name)
            if cube is None:
                self._absent("read", asked)
            else:
                self._under_cube(cube, "read", asked)
            return
        asked = Object("index", (statement.name,))
        index = self._registry.indexes.get(statement.name)
        if index is None:
            self._absent("read", asked)
            return
        for full in sorted(self._of_index(index)):
            self._under(full, "read", asked)

    def build_all(self, statement: nodes.BuildAll) -> None:
        """Managing each cube and index of the table."""
        pinned, asked = self._table("read", statement.table)
        if pinned is None:
            return
        uuid = pinned.uuid
        for cube in self._registry.cubes.values():
            if cube.table_uuid == uuid:
                self._need("manage", Object("cube", (cube.name,)), asked)
                self._under_cube(cube, "manage", asked)
        for index in self._registry.indexes.values():
            if index.table_uuid == uuid:
                self._need("manage", Object("index", (index.name,)), asked)
                for full in sorted(self._of_index(index)):
                    self._under(full, "manage", asked)

    # Tables.

    def read(self, statement: nodes.OfTable | nodes.OfTables) -> None:
        """Reading the table, if it names one."""
        if statement.table is not None:
            self._table("read", statement.table)

    def change(self, statement: nodes.OfTable) -> None:
        """Changing the table."""
        self._table("change", statement.table)

    def read_and_change(self, statement: nodes.OfTable) -> None:
        """Both: the answer reports of the table."""
        self.read(statement)
        self.change(statement)

    def nothing(self, _: Statement) -> None:
        """SHOW QUERIES; whose: `store/journals/query_log/visibility.py`."""

    def _table(self, action: Action, parts: TableName) -> tuple[NamedTable | None, Object]:
        """An Iceberg table of that name; views and metadata have none of what is done to tables."""
        full = self._lake.resolve(parts)
        asked = Object.table(full)
        self._need(action, asked, asked)
        pinned = None
        if not self._services.context.is_temporary(parts):
            pinned = self._named_table(full)
        if pinned is None:
            self._absent(action, asked)
        elif action == "read":
            self._reads(full, pinned, asked)
        else:
            self.tables.add(full)
        return pinned, asked

    # Constraints and relate columns over forbidden tables give the errors of unknown ones.

    def add_constraint(self, statement: nodes.AddConstraint) -> None:
        """Changing the table, and reading the one that the constraint refers to."""
        self._table("change", statement.table)
        if statement.constraint.references is not None:
            self._table("read", statement.constraint.references)

    def validate_constraint(self, statement: nodes.ValidateConstraint) -> None:
        """Reading the table, and what the constraint refers to."""
        pinned, asked = self._table("read", statement.table)
        if pinned is not None:
            self._constraint(pinned, statement.name, asked)

    def drop_constraint(self, statement: nodes.DropConstraint) -> None:
        """Needs the right to change the table; IF EXISTS has the same answer for any name."""
        pinned, asked = self._table("change", statement.table)
        if pinned is not None and not statement.if_exists:
            self._constraint(pinned, statement.name, asked)

    def _constraint(self, pinned: NamedTable, name: str, asked: Object) -> None:
        from accelerator.services.ddl.constraints.declare import constraints_of, missing

        for one in constraints_of(self._lake, pinned.parts):
            if one.name.lower() == name.lower():
                there = one.references
                if there is None or self._sees({self._lake.resolve(there)}, asked):
                    return
        raise missing(name, joined(pinned.parts))

    def drop_relate_column(self, statement: nodes.DropRelateColumn) -> None:
        """Changing the table; IF EXISTS has the same answer for any name."""
        pinned, asked = self._table("change", statement.table)
        if pinned is None or statement.if_exists:
            return
        if not self._sees_relate(pinned, statement.name, asked):
            from accelerator.services.ddl.relate_columns import missing

            raise missing(statement.name, joined(pinned.parts))

    def optimize(self, statement: nodes.OptimizeTable) -> None:
        """Needs the right to read the dimensions of each relate column that rows are ordered by."""
        pinned, asked = self._table("change", statement.table)
        found = None if pinned is None else self._pin.described(pinned.parts)
        if pinned is None or found is None:
            return
        for name, _ in statement.keys:
            if found.facts.column(name) is None and not self._sees_relate(pinned, name, asked):
                from accelerator.services.clustering.options import no_key

                raise no_key(name, found.facts)

    def _sees_relate(self, pinned: NamedTable, name: str, asked: Object) -> bool:
        """Returns whether the table has that relate column and all its dimensions may be read."""
        if (pinned.parts, name.lower()) in self._added:
            return True
        known = {one.name.lower() for one in relate_columns(pinned.properties)}
        return name.lower() in known and self._sees(dimensions(pinned, name), asked)

    def _sees(self, under: set[FullName], asked: Object) -> bool:
        """Returns whether all the tables may be read; notes the ruling for the audit log."""
        for full in sorted(under):
            table = Object.table(full)
            if not self._access.may("read", table):
                note_refused("read", asked)
                return False
            self.tables.add(full)
            note_allowed("read", table)
        return True

    def add_relate_column(self, statement: nodes.AddRelateColumn) -> None:
        """The fact is changed; each table that a qualifier brings in is read, in their order."""
        pinned, _ = self._table("change", statement.table)
        tables = [] if pinned is None else [pinned.parts]
        for parts in _qualifiers(statement, self._untold):
            lowered = tuple(part.lower() for part in parts)
            if any(tuple(p.lower() for p in t[-len(parts) :]) == lowered for t in tables):
                continue
            found, _ = self._table("read", parts)
            if found is not None:
                tables.append(found.parts)
        name = statement.name or "".join(statement.source[-1:])
        if pinned is not None:
            self._added.add((pinned.parts, name.lower()))

    # What is asked of the rules and of catalogs.

    def _need(self, action: Action, object: Object, asked: Object) -> None:
        if not self._access.may(action, object):
            raise denied(action, asked)
        note_allowed(action, object)

    def _absent(self, action: Action, asked: Object) -> None:
        self.is_whole = False
        if not self._access.everything:
            raise denied(action, asked)

    def _untold(self, why: str) -> None:
        self.is_whole = False
        if not self._access.everything:
            raise _refused(why)

    def _named_table(self, full: FullName) -> NamedTable | None:
        """The table of that full name in one of the lake's catalogs; though a reader refuses it."""
        if len(full) < 2 or full[0] not in self._catalogs:
            return None
        return self._pin.named(full)

    def _view(self, full: FullName) -> ViewFacts | None:
        if len(full) < 2 or full[0] not in self._catalogs:
            return None
        return self._pin.view(full)


UNREADABLE: FullName = ("", "", "")
"""Nothing has this name, so that only who may read everything may read it."""
_UNDER: dict[str, tuple[Mapping[str, object], frozenset[FullName] | None]] = {}
"""By a cube's id its definition and the tables in it: each statement under a policy asks."""
_UNDER_MAX = 5_000


def tables_of(record: CubeRecord) -> frozenset[FullName] | None:
    """The full names of the tables under a cube; None where its definition can't be read."""
    known = _UNDER.get(record.id)
    if known is not None and known[0] is record.definition:
        return known[1]
    try:
        cube = from_dict(dict(record.definition))
        found = frozenset(parts_of(table.name) for table in cube.tables)
    except (*UNFIT, AcceleratorError):
        found = None
    if len(_UNDER) >= _UNDER_MAX:
        _UNDER.clear()
    _UNDER[record.id] = record.definition, found
    return found


def dimensions(pinned: PinnedTable | NamedTable, column: str | None = None) -> set[FullName]:
    """The tables behind a table's relate columns, or behind the one of that name."""
    return {
        join.table
        for one in relate_columns(pinned.properties)
        if column is None or one.name.lower() == column.lower()
        for join in one.path
    }


def tables_of_index(record: IndexRecord, pin: Pin) -> set[FullName]:
    """An index's table, and the dimensions of the relate column that it may be on."""
    full = parts_of(record.table)
    pinned = pin.named(full) if record.field_id < 0 else None
    return {full} | (set() if pinned is None else dimensions(pinned, record.column))


def _qualifiers(
    statement: nodes.AddRelateColumn, untold: Callable[[str], None]
) -> Iterator[TableName]:
    """The names of tables before columns, in the order in which they're looked up."""
    if statement.expression:
        yield from (path[:-1] for path in _columns_in(statement.expression, untold) if path[1:])
    elif statement.source[1:]:
        yield statement.source[:-1]
    for pair in statement.equalities:
        yield from (path[:-1] for path in pair if path[1:])


def _columns_in(text: str, untold: Callable[[str], None]) -> Iterable[TableName]:
    try:
        tree = parse(f"SELECT {text}")
    except PARSER_FAILS:
        untold("its expression can't be parsed here")
        return ()
    return [tuple(part.name for part in one.parts) for one in tree.find_all(exp.Column)]


def _without_suffix(part: str) -> str:
    return part[: -len(SUFFIX)] if part.lower().endswith(SUFFIX) else part


def _is_of_table(part: str) -> bool:
    """Whether Iceberg takes the part behind a table's name for its metadata, or a state of it."""
    lowered = part.lower()
    return lowered in _METADATA or lowered.startswith(_STATES)
