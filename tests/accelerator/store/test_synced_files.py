"""A commit survives a power cut: its bytes and its name are on disk before anybody is told of it.

A test can't cut the power, so it watches what is synced and in which order.
"""

from __future__ import annotations

import os

import pytest

from accelerator.store.files import local
from accelerator.store.files.local import LocalFiles


@pytest.fixture
def events(monkeypatch):
    """What was synced or linked, as it happens: a file or folder by its inode, and its bytes."""
    found: list[tuple[str, int, int]] = []
    sync, link = os.fsync, os.link

    def synced(handle):
        told = os.fstat(handle)
        found.append(("synced", told.st_ino, told.st_size))
        sync(handle)

    def linked(source, target):
        link(source, target)
        told = target.stat()
        found.append(("linked", told.st_ino, told.st_size))

    monkeypatch.setattr(local.os, "fsync", synced)
    monkeypatch.setattr(local.os, "link", linked)
    return found


def test_bytes_are_synced_before_the_name_and_the_name_before_the_answer(tmp_path, events):
    files = LocalFiles(str(tmp_path))
    assert files.create("tables/t/versions/v1.json", b"a state")
    target = tmp_path / "tables" / "t" / "versions" / "v1.json"
    file, folder = target.stat(), target.parent.stat()
    assert events[:2] == [("synced", file.st_ino, 7), ("linked", file.st_ino, 7)]
    assert [(what, inode) for what, inode, _ in events[2:]] == [("synced", folder.st_ino)]


def test_who_comes_second_links_nothing(tmp_path, events):
    files = LocalFiles(str(tmp_path))
    assert files.create("v1.json", b"first")
    del events[:]
    assert not files.create("v1.json", b"second")
    assert [what for what, *_ in events] == ["synced"]
    assert files.read("v1.json") == b"first"
