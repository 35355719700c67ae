"""Errors of users and of what they may do; all stand under `AcceleratorError`."""

from __future__ import annotations

from accelerator.errors import AcceleratorError


class AccessDeniedError(AcceleratorError):
    """The user may not do that to the object, or there is no such object: nobody tells which."""

    code = "access_denied"


class TooManyAttemptsError(AcceleratorError):
    """Passwords were wrong too often, or too many are being checked; ask again later."""

    code = "too_many_attempts"

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(
            "passwords were wrong too often, or too many are being checked at once",
            hint=f"try again in {max(1, round(retry_after_s))} s",
        )
        self.retry_after_s = retry_after_s
