"""What only the API's requests can be wrong in."""

from __future__ import annotations

from accelerator.errors import AcceleratorError


class RequestError(AcceleratorError):
    """A path, a parameter, a header or a body isn't as the document has it."""

    code = "request_invalid"


class CursorError(AcceleratorError):
    """A list can't be gone on with: its snapshot is gone, or the cursor is of another list."""

    code = "cursor_gone"


class RunNotFoundError(AcceleratorError):
    """There is no such run, or not any more, or it's nothing for who asks."""

    code = "run_not_found"


class RunEndedError(AcceleratorError):
    """A run that isn't running can't be cancelled."""

    code = "run_ended"


class RunBusyError(AcceleratorError):
    """The same work is being done already."""

    code = "run_busy"


class BusyError(AcceleratorError):
    """As many runs, or uploads, are on their way as this gateway takes at once."""

    code = "gateway_busy"


class MediaError(AcceleratorError):
    """A body is of another type than the document says, or encoded."""

    code = "request_media"


class RequestTimeoutError(AcceleratorError):
    """A body came too slowly."""

    code = "request_timeout"


class UploadStorageError(AcceleratorError):
    """The gateway has no place for a body."""

    code = "upload_storage"
