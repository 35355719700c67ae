"""Artifacts that records name outside the store: they're given to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from accelerator.errors import StoreError
from accelerator.store import Store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store's folder, another name of it, and a link in it that leads out."""
    (tmp_path / "secret").mkdir()
    root = tmp_path / "the store"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "name").symlink_to(root)
    return root


def test_artifacts_under_the_root_by_any_of_its_names(root: Path, tmp_path: Path) -> None:
    for opened in (root, tmp_path / "name"):
        store = Store.open(str(opened))
        for path in (
            f"{root}/a/b",
            f"file://{root}/a/b",
            f"file:{tmp_path}/name/a",
            f"{root}/a/../b",
        ):
            store.check_inside([path])
            assert store.holds(path)


@pytest.mark.parametrize(
    "uri",
    [
        "/etc/passwd",
        "file:///etc/passwd",
        "{root}",
        "{root}/../secret/x",
        "file://{root}/a/../../secret/x",
        "{root}/link/x",
        "{root}-more/x",
        "s3://bucket/x",
        "hdfs://host/{root}/x",
        "x",
        "",
    ],
)
def test_anything_else_is_an_error(uri: str, root: Path) -> None:
    store = Store.open(str(root))
    with pytest.raises(StoreError, match="isn't under the store"):
        store.check_inside([f"{root}/a", uri.format(root=root)])
    assert "link" in uri or not store.holds(uri.format(root=root))


def test_of_an_object_store() -> None:
    store = Store.open("memory:///bucket")
    store.check_inside([])
    for uri in ("file:///etc/passwd", "memory://elsewhere/x", "s3://bucket/x"):
        with pytest.raises(StoreError, match="isn't under the store"):
            store.check_inside([uri])
