"""A gateway that all suites of foreign clients share, and one with users and TLS."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.access.login.passwords import hash_password
from tests.gateway.clients.typed_lake import filled

PASSWORD = "pässword:1"


@pytest.fixture(scope="session")
def typed_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a warehouse with every type."""
    return filled(tmp_path_factory.mktemp("clients") / "lake")


@pytest.fixture(scope="module")
def open_gateway(typed_warehouse: Path) -> Iterator[str]:
    """Its address, without users; answers come in small pages."""
    config = Config.load(None, warehouse=str(typed_warehouse))
    with serving.start(config, workers=1, page_bytes=64 * 1024) as found:
        yield found.url


@dataclass(frozen=True)
class Guarded:
    """A gateway with users, by https; the file of the certificate that made itself."""

    url: str
    certificate: Path


@pytest.fixture(scope="module")
def guarded(typed_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Its user is ann, by `PASSWORD`."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl isn't installed: no certificate can be made")
    folder = tmp_path_factory.mktemp("guarded")
    key, certificate, users = folder / "key.pem", folder / "certificate.pem", folder / "users.toml"
    asked = "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext"
    names = ["subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out"]
    subprocess.run(
        [openssl, *asked.split(), *names, str(certificate)], check=True, capture_output=True
    )
    users.write_text(f'[users.ann]\npassword = "{hash_password(PASSWORD)}"\n')
    for one in (users, key):
        one.chmod(0o600)
    with serving.start(
        Config.load(None, warehouse=str(typed_warehouse)),
        workers=1,
        users=str(users),
        tls_certificate=str(certificate),
        tls_key=str(key),
    ) as found:
        yield Guarded(found.url, certificate)
