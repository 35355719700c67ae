"""The API's OpenAPI document, made of the routes and the models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from accelerator.gateway.http.api.problems import TYPE
from accelerator.gateway.http.api.routes import ARROW, BASE, ROUTES, Route
from accelerator.gateway.workers.api.models import NoParameters, Problem, name_of

Json = dict[str, Any]
_REF = "#/components/schemas/{model}"
_BINARY: Json = {"type": "string", "format": "binary"}
_ANY = (400, 401, 403, 421, 429, 500, 503)
"""Statuses that every operation may have."""


class _SchemaNames(GenerateJsonSchema):
    """Names the document's schemas as `name_of` names their models."""

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(name).removesuffix("Model")


@lru_cache(maxsize=1)
def document() -> Json:
    """The whole document, of OpenAPI 3.1; it's the caller's to leave as it is."""
    answers = {route.answer for route in ROUTES if route.sort != "query"} | {Problem}
    asked = {route.body for route in ROUTES if route.body is not None}
    given: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((one, "serialization") for one in sorted(answers, key=lambda one: one.__name__)),
        *((one, "validation") for one in sorted(asked, key=lambda one: one.__name__)),
    ]
    _, schemas = models_json_schema(
        given, ref_template=_REF, by_alias=True, schema_generator=_SchemaNames
    )
    paths: Json = {}
    for route in ROUTES:
        paths.setdefault(f"{BASE}{route.path}", {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lakehouse-accelerator",
            "version": "1",
            "description": "Metadata of Iceberg tables, runs of services, and appends.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"password": {"type": "http", "scheme": "basic"}},
        },
        "security": [{"password": []}],
    }


def _operation(route: Route) -> Json:
    answers = {str(route.status): _answer(route.status, route.answer, "application/json")}
    if route.sort == "query":
        answers["200"]["content"] = {ARROW: {"schema": _BINARY}}
    for status in sorted({*_ANY, *route.errors}):
        answers[str(status)] = _answer(status, Problem, TYPE)
    found: Json = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [
            *_parameters("path", route.in_path),
            *_parameters("query", route.query),
            *_parameters("header", route.headers),
        ],
        "responses": answers,
    }
    if route.sort == "append":
        found["requestBody"] = {"required": True, "content": {ARROW: {"schema": _BINARY}}}
    if route.body is not None:
        schema = {"$ref": _REF.format(model=name_of(route.body))}
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return found


def _answer(status: int, model: type[BaseModel], media: str) -> Json:
    found: Json = {
        "description": HTTPStatus(status).phrase,
        "content": {media: {"schema": {"$ref": _REF.format(model=name_of(model))}}},
    }
    if status == HTTPStatus.UNAUTHORIZED:
        found["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    return found


def _parameters(where: str, model: type[BaseModel]) -> Iterator[Json]:
    if model is NoParameters:
        return
    schema = model.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    for name, one in schema["properties"].items():
        yield {
            "name": name,
            "in": where,
            "required": where == "path" or name in required,
            "schema": _without_null(one),
        }


def _without_null(schema: Json) -> Json:
    """A parameter that isn't given is left out: it's never null."""
    kept = {key: value for key, value in schema.items() if key not in ("default", "title")}
    options = [one for one in kept.pop("anyOf", ()) if one != {"type": "null"}]
    if schema.get("default") is not None:
        kept["default"] = schema["default"]
    return kept | (options[0] if options else {})
