"""What goes over the wire of the API, as types: each body, each set of parameters.

The document is made from these, requests are checked by them, and answers are made of them, so that
none of the three can differ. Times are Unix time in milliseconds; sizes are bytes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StringConstraints,
    create_model,
)

from accelerator.query.statements.catalog import FORMS, ApiList, Form

NAME_MAX = 255
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=NAME_MAX, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""Of a catalog, a schema, a table, a cube or an index; no control characters."""
Millis = Annotated[int, Field(description="Unix time in milliseconds")]
LIMIT, LIMIT_MAX = 100, 1_000
KEY = r"^[A-Za-z0-9_.\-]{8,64}$"
RUN_ID = r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}:[1-9][0-9]{0,17}$"


def name_of(model: type[BaseModel]) -> str:
    """Returns a model's name in the API's document."""
    return model.__name__.removesuffix("Model")


class Model(BaseModel):
    """A body of an answer; it has no other fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, model_title_generator=name_of)


# Parameters


class NoParameters(Model):
    """None."""


class CatalogPath(Model):
    """A catalog."""

    catalog: Name


class SchemaPath(CatalogPath):
    """A schema of a catalog; one within another has a dot between them."""

    schema_: Name = Field(alias="schema")


class TablePath(SchemaPath):
    """A table."""

    table: Name


class Paging(Model):
    """Which part of a list; a cursor is what the part before said as `next`."""

    limit: int = Field(default=LIMIT, ge=1, le=LIMIT_MAX)
    cursor: str | None = Field(default=None, max_length=600, pattern=r"^[A-Za-z0-9_\-]+$")


class CoveragePaging(Paging):
    """Coverage of one cube or index alone, where its name is given."""

    cube: Name | None = None
    index: Name | None = None


class RunPath(Model):
    """A run."""

    run: str = Field(pattern=RUN_ID)


class AppendHeaders(Model):
    """What a client says of an append."""

    key: str = Field(alias="Idempotency-Key", pattern=KEY)


# Answers


class Problem(Model):
    """What is wrong, as RFC 9457 has it; `code` is the accelerator's own."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str = ""


class Catalog(Model):
    """A catalog."""

    name: str


class CatalogsModel(Model):
    """All that the user may see."""

    items: list[Catalog]


class Schema(Model):
    """A schema."""

    catalog: str
    name: str


class Schemas(Model):
    """A part of a list of schemas."""

    items: list[Schema]
    next: str | None = None


class RelationModel(Model):
    """A table or a view."""

    catalog: str
    schema_: str = Field(alias="schema")
    name: str
    kind: Literal["table", "view"]


class Relations(Model):
    """A part of a list of tables and views."""

    items: list[RelationModel]
    next: str | None = None


class ColumnModel(Model):
    """A column; its type in Spark's words, and in Iceberg's."""

    id: int
    name: str
    type: str
    iceberg_type: str
    required: bool
    doc: str | None = None


class PartitionedBy(Model):
    """A field of the current partition spec."""

    name: str
    source: str
    transform: str


class SortedBy(Model):
    """A field of the order in which writers sort."""

    source: str
    transform: str
    direction: str
    nulls: str


class Clustering(Model):
    """How OPTIMIZE has ordered the table's rows last."""

    curve: str
    columns: list[str]


class SizesModel(Model):
    """Of the newest snapshot; rows may be unknown, or at most so many."""

    rows: int | None
    rows_exact: bool
    files: int
    bytes: int


class TableModel(Model):
    """A table at its newest snapshot."""

    catalog: str
    schema_: str = Field(alias="schema")
    name: str
    uuid: str
    format_version: int
    location: str
    metadata_location: str
    snapshot_id: int | None
    last_updated: Millis
    columns: list[ColumnModel]
    partitioned_by: list[PartitionedBy]
    sorted_by: list[SortedBy]
    clustered_by: Clustering | None
    sizes: SizesModel
    properties: dict[str, str] = Field(description="Values that may be secrets are `***`.")


class Snapshot(Model):
    """A snapshot."""

    id: int
    parent_id: int | None
    sequence_number: int | None
    committed: Millis
    operation: str | None
    summary: dict[str, str]
    current: bool


class Snapshots(Model):
    """A part of a list, the newest first."""

    items: list[Snapshot]
    next: str | None = None


class Ref(Model):
    """A branch or a tag."""

    name: str
    kind: Literal["branch", "tag"]
    snapshot_id: int
    max_ref_age_ms: int | None
    max_snapshot_age_ms: int | None
    min_snapshots_to_keep: int | None


class Refs(Model):
    """All branches and tags."""

    items: list[Ref]


class Partition(Model):
    """A partition with data files; its values are texts."""

    values: dict[str, str | None]
    spec_id: int
    rows: int
    files: int
    bytes: int
    delete_files: int


class Partitions(Model):
    """A part of a list, of one snapshot throughout."""

    snapshot_id: int | None
    items: list[Partition]
    next: str | None = None


class File(Model):
    """A data or delete file of a snapshot; values of its partition are texts."""

    path: str
    content: Literal["data", "position_deletes", "equality_deletes"]
    format: str
    spec_id: int
    partition: dict[str, str | None]
    rows: int
    bytes: int
    sequence_number: int | None


class FilesModel(Model):
    """A part of a list, of one snapshot throughout."""

    snapshot_id: int | None
    items: list[File]
    next: str | None = None


class Append(Model):
    """What an append came to; without rows there is no snapshot."""

    snapshot_id: int | None
    rows: int
    files: int
    bytes: int
    repeated: bool = Field(description="An append of the same key had been made already.")


TableParts = Annotated[
    list[Name], Field(min_length=3, max_length=3, description="catalog, schema and table")
]


class RefreshCube(Model):
    """Build what a cube lacks."""

    action: Literal["refresh"]
    cube: Name


class RefreshIndex(Model):
    """Build what an index lacks."""

    action: Literal["refresh"]
    index: Name


class CompactCubeModel(Model):
    """Merge a cube's segments."""

    action: Literal["compact"]
    cube: Name


class Vacuum(Model):
    """Delete what the store has of a table and nothing needs; if `full`, orphans too."""

    action: Literal["vacuum"]
    table: TableParts
    full: bool = False


class AnalyzeModel(Model):
    """Say which cubes would pay for what was asked of a table."""

    action: Literal["analyze"]
    table: TableParts


class Start(RootModel[RefreshCube | RefreshIndex | CompactCubeModel | Vacuum | AnalyzeModel]):
    """Work to be started: of one cube, one index or one table."""


class QueryModel(Model):
    """A query in Trino's SQL, with the catalog and schema that complete its names."""

    sql: str = Field(min_length=1, max_length=1_000_000)
    catalog: Name | None = None
    schema_: Name | None = Field(default=None, alias="schema")


class StreamModel(RootModel[bytes]):
    """Rows in Arrow's stream format."""


RunState = Literal["running", "done", "partial", "failed", "cancelled", "lost", "not_due"]


class RunModel(Model):
    """A run of a service's task, of whatever process of the store.

    `partial`: it goes on in another run. `lost`: its process is gone. `not_due`: there was nothing
    to do. `done` of `total` are data files; a total of 0 isn't known yet. `by`: who has asked for
    it, or nobody.
    """

    id: str
    key: str
    action: str
    of: str = Field(description="What it's of, such as `cube sales`; empty where that is gone.")
    table: str | None
    state: RunState
    began: Millis
    ended: Millis | None = None
    done: int = 0
    total: int = 0
    twice: int = Field(default=0, description="Units that another process had been first with.")
    failures: int = Field(default=0, description="Runs in a row that failed, this one among them.")
    error: str | None = None
    code: str | None = None
    by: str = ""


class Runs(Model):
    """A part of the history, the last ones to end first; on the first one, too, what runs now."""

    running: list[RunModel]
    items: list[RunModel]
    next: str | None = None


# Answers of our own statements, whose columns stand in `statements.catalog`.

_TYPES: dict[str, Any] = {
    "array<string>": list[str] | None,
    "array<bigint>": list[int] | None,
    "bigint": int | None,
    "boolean": bool | None,
    "double": float | None,
    "string": str | None,
    "time": Annotated[int | None, Field(description="Unix time in milliseconds")],
}


def list_model(form: Form, api: ApiList) -> Any:
    """The model of a part of the list; that of an item has the statement's columns."""
    pairs = (one.split(" ") for one in form.columns.split(", "))
    fields: dict[str, Any] = {column: (_TYPES[type_], None) for column, type_ in pairs}
    item: Any = create_model(
        api.item, __base__=Model, __doc__=f"{api.item_doc}, as {form.words} has it.", **fields
    )
    parts: dict[str, Any] = {"items": (list[item], ...), "next": (str | None, None)}
    return create_model(
        api.name.capitalize(), __base__=Model, __doc__=f"A part of a list of {api.items}.", **parts
    )


LISTS: dict[str, tuple[Form, ApiList, Any, type[Paging]]] = {
    f"list_{api.name}": (
        form,
        api,
        list_model(form, api),
        CoveragePaging if api.of_artifacts else Paging,
    )
    for form in FORMS
    if (api := form.api) is not None
}
"""By the name of the call that gives it: the model of its answer, and that of its parameters."""
