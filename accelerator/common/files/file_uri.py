"""Local paths as users and catalogs write them: as they are, or behind `file:`.

Nothing is percent-decoded, as in Hadoop. `file://localhost/x` is /x, as it's everywhere.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

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


def uri_of(folder: Path) -> str:
    """The `file:` URI under which PyIceberg and Hadoop both find the absolute folder itself.

    Neither decodes what is percent-encoded, so letters and blanks stay as they are. PyIceberg cuts
    a path at `#` and `?`, and SQLAlchemy decodes `%20`: folders of such names are encoded, and
    their tables lie in a folder beside.

    >>> [uri_of(Path(text)) for text in ("/a b/ü", "/100%", "/a#b")]
    ['file:///a b/ü', 'file:///100%25', 'file:///a%23b']
    """
    plain = f"file://{folder}"
    is_read_as_it_is = "%" not in plain and urlsplit(plain).path == str(folder)
    return plain if is_read_as_it_is else folder.as_uri()


def other_host(uri: str) -> str:
    """The host that a `file:` URI names, where it isn't this one; else nothing.

    >>> other_host("file://host/a"), other_host("file://localhost/a"), other_host("file://a")
    ('host', '', '')
    """
    host, slash, _ = uri.removeprefix("file://").partition("/")
    return host if uri.startswith("file://") and slash and host.lower() != "localhost" else ""
