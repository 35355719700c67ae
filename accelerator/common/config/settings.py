"""Settings as fields of pydantic's models, from files, the environment and arguments.

A value that a setting can't have, or a name that is none, is a `ConfigError` that names the key,
its source and what is allowed. `value_kinds.py` has the kinds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from accelerator.common.config.value_kinds import Allowed
from accelerator.errors import ConfigError
from rewrite.text.printable import one_line
from rewrite.text.suggestions import closest, did_you_mean

FILE_BYTES_MAX = 8 * 1024 * 1024
_OUT = "reaches_out"


# Returns Any, as dataclasses.field does for a type checker: the annotation has the type.
def setting(default: Any, doc: str, *, reaches_out: bool = False, secret: bool = False) -> Any:
    """A field with its documentation.

    A setting that `reaches_out` may run code, hand over credentials or write elsewhere. A file in
    the warehouse can't set it, since whoever writes tables could. A `secret` may contain
    credentials, as every table of texts may.
    """
    shown = not secret and not isinstance(default, dict)
    return Field(default, description=doc, repr=shown, json_schema_extra={_OUT: reaches_out})


class Settings(BaseModel):
    """Settings of one sort, with the `prefix` of variables and the `page` of the reference."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefix: ClassVar[str]
    page: ClassVar[str]

    def __setattr__(self, name: str, _value: object) -> None:
        """Raises AttributeError: pydantic's own error shows the value, which may be a secret."""
        raise AttributeError(f"setting {name!r} can't be changed: {type(self).__name__} is frozen")

    @model_validator(mode="wrap")
    @classmethod
    def _checked(
        cls, values: Any, check: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        try:
            return check(values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise cls._refusal(first, values, info.context or "the arguments") from None

    @classmethod
    def _refusal(cls, error: ErrorDetails, given: Mapping[str, Any], source: str) -> ConfigError:
        # A name that is no Unicode text has no place: pydantic reads no other name then.
        key = str(error["loc"][0] if error["loc"] else error["input"])
        if key not in cls.model_fields:
            near = closest(key, cls.model_fields, 2)
            meant = f"{did_you_mean(near)} " if near else ""
            return ConfigError(
                f"unknown setting {key!r} in {source}",
                hint=f"{meant}docs/reference/{cls.page} lists all settings",
                suggestions=near,
            )
        field = cls.model_fields[key]
        shown = repr(given[key]) if field.repr else "that"
        why = error["msg"].removeprefix("Value error, ")
        return ConfigError(
            f"setting {key!r} in {source} can't be {shown}: {why}",
            hint=f"{key} takes {describe(field)}",
        )

    @classmethod
    def parsed(cls, values: Mapping[str, Any], source: str) -> dict[str, Any]:
        """These settings, each in its type."""
        found = cls.model_validate(dict(values), context=source)
        return {key: getattr(found, key) for key in found.model_fields_set}

    @classmethod
    def of_process(
        cls, env: Mapping[str, str] | None, arguments: Mapping[str, Any], *without: str
    ) -> dict[str, Any]:
        """Returns the settings of the environment, then of arguments that aren't None.

        Variables of the names in `without` are no settings, nor those that begin with one of them
        that ends with `_`.
        """
        others = tuple(name for name in without if name.endswith("_"))
        variables = {
            key.removeprefix(cls.prefix).lower(): value
            for key, value in (os.environ if env is None else env).items()
            if key.startswith(cls.prefix) and key not in without and not key.startswith(others)
        }
        named = {key: value for key, value in arguments.items() if value is not None}
        return cls.parsed(variables, "the environment") | cls.parsed(named, "the arguments")


def reaching_out(settings: type[Settings]) -> list[str]:
    """The names of settings that reach out of the warehouse."""
    fields = settings.model_fields.items()
    return [name for name, field in fields if field.json_schema_extra == {_OUT: True}]


def describe(field: FieldInfo) -> str:
    """Describes the values of a setting, for messages and for the reference page."""
    kinds = [one.words for one in field.metadata if isinstance(one, Allowed)]
    return kinds[0] if kinds else f"one of {', '.join(get_args(field.annotation))}"


def from_file(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; ConfigError where it can't be read, or is too large."""
    import tomllib  # 2 ms, which those without a file are spared

    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise ConfigError(f"{path} is larger than {FILE_BYTES_MAX} bytes", hint="split it up")
        return tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ConfigError(f"{path} can't be read: {why}", hint="check path and rights") from error
    except (ValueError, RecursionError) as error:  # of TOML, or of UTF-8
        told = one_line(str(error))[:200]
        raise ConfigError(f"{path} can't be read as TOML: {told}", hint="mend the file") from error
