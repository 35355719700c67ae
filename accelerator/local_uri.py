"""Local paths as users and catalogs write them: as they are, or behind `file:`.

Nothing is percent-decoded, as in Hadoop. `file://localhost/x` is /x, as it's everywhere.
"""

from __future__ import annotations

_HERE = "//localhost/"


def path_of(uri: str) -> str:
    """The path; what has another scheme stays as it is.

    >>> [path_of(text) for text in ("file:/a b", "file:///a%20b", "file://localhost/a", "s3://a/b")]
    ['/a b', '/a%20b', '/a', 's3://a/b']
    """
    if not uri.startswith("file:"):
        return uri
    rest = uri.removeprefix("file:")
    if rest.lower().startswith(_HERE):
        return rest[len(_HERE) - 1 :]
    return rest.removeprefix("//")


def other_host(uri: str) -> str:
    """The host that a `file:` URI names, where it isn't this one; else nothing.

    >>> other_host("file://host/a"), other_host("file://localhost/a"), other_host("file://a")
    ('host', '', '')
    """
    host, slash, _ = uri.removeprefix("file://").partition("/")
    return host if uri.startswith("file://") and slash and host.lower() != "localhost" else ""
