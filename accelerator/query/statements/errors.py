"""Errors that only executing a parsed statement raises; all stand under `AcceleratorError`."""

from __future__ import annotations

from accelerator.errors import AcceleratorError


class NotBuiltError(AcceleratorError):
    """A statement of ours that this release knows by name and can't carry out yet."""

    code = "not_built_yet"
