"""What Java throws, as an error of ours; needs nothing of Spark before it's entered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# py4j's proxies have no types of their own: whatever comes from Java is `Any` here.
Java = Any


class JvmError(Exception):
    """What Java threw: its exception's class name and message."""

    def __init__(self, class_name: str, message: str) -> None:
        self.class_name = class_name
        super().__init__(f"{class_name}: {message}" if message else class_name)


@contextmanager
def java_errors() -> Iterator[None]:
    """What py4j raises inside comes out as `JvmError`."""
    from py4j.protocol import Py4JError, Py4JJavaError  # where there's no Spark there's no py4j

    try:
        yield
    except Py4JJavaError as error:
        raise _translated(error.java_exception) from error
    except Py4JError as error:
        raise JvmError("py4j", str(error)) from error


def _translated(thrown: Java) -> JvmError:
    """The innermost cause that says something; reflection wraps what a method throws."""
    while thrown.getClass().getName() == "java.lang.reflect.InvocationTargetException":
        thrown = thrown.getCause()
    return JvmError(str(thrown.getClass().getName()), str(thrown.getMessage() or ""))
