"""Errors of the client; what the gateway tells is passed on with its code and hint."""

from __future__ import annotations

from rewrite.errors import AcceleratorError


class ApiError(AcceleratorError):
    """The gateway refuses, or fails. `status` is HTTP's; `code` the accelerator's own."""

    def __init__(self, message: str, *, status: int, code: str = "error", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status, self.code = status, code


class UnreachableError(AcceleratorError):
    """Nobody answers at the gateway's address, or not in time."""

    code = "gateway_unreachable"
