"""The certificate: which are refused at start, and how another one takes its place."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from accelerator.errors import ConfigError
from accelerator.gateway.access.login.tls import Tls

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="no openssl command to make certificates")

CA = """
[ca]
default_ca = own
[own]
database = {root}/index.txt
new_certs_dir = {root}
serial = {root}/serial
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


def _openssl(*arguments):
    ran = subprocess.run(
        [OPENSSL, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Makes a pair of the name, valid between two times like 20260101000000Z."""
    root = tmp_path_factory.mktemp("certificates")
    (root / "index.txt").touch()
    (root / "serial").write_text("01\n")
    config = root / "ca.cnf"
    config.write_text(CA.format(root=root))

    def make(name, start="20200101000000Z", end="20990101000000Z", usage=""):
        key, request, certificate = (root / f"{name}.{one}" for one in ("key", "csr", "pem"))
        if not certificate.exists():
            _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
            _openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
            extra = []
            if usage:
                extensions = root / f"{name}.ext"
                extensions.write_text(f"extendedKeyUsage = {usage}\n")
                extra = ["-extfile", extensions]
            _openssl(
                *("ca", "-batch", "-selfsign", "-notext", "-config", config, "-keyfile", key),
                *("-in", request, "-out", certificate, "-startdate", start, "-enddate", end),
                *extra,
            )
        return certificate, key

    return make


@pytest.fixture
def pair(tmp_path, made):
    """Files of a pair, and what puts others in their place."""
    target = tmp_path / "tls.pem", tmp_path / "tls.key"

    def put(*sources):
        for source, to in zip(sources, target, strict=True):
            new = to.with_suffix(".new")
            shutil.copy(source, new)
            new.replace(to)

    put(*made("first"))
    return target, put


def _connected(tls, name=None):
    """The certificate's name that a client is shown, and the version that is spoken."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(to_client, to_server, server_hostname=name)
    there = tls.context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(10):
        for side in (here, there):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return here.getpeercert(binary_form=True), here.version()


def _der(certificate):
    return ssl.PEM_cert_to_DER_cert(Path(certificate).read_text())


def test_a_pair_serves(pair, made):
    tls = Tls(*pair[0])
    shown, version = _connected(tls)
    assert shown == _der(made("first")[0])
    assert version == "TLSv1.3"
    assert tls.context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert 20_000 < tls.days_left < 30_000
    assert tls.error is None


def test_another_pair_takes_its_place_for_new_connections(pair, made):
    files, put = pair
    tls = Tls(*files)
    assert not tls.reloaded().changed
    put(*made("second", end="20980101000000Z"))
    before = tls.days_left
    assert tls.reloaded().changed
    assert tls.days_left < before
    for name in (None, "gateway.example"):
        assert _connected(tls, name)[0] == _der(made("second")[0])


PAST = {"start": "20200101000000Z", "end": "20210101000000Z"}
FUTURE = {"start": "20980101000000Z", "end": "20990101000000Z"}
BROKEN = {
    "expired": ("has expired", lambda made: made("expired", **PAST)),
    "future": ("isn't valid yet", lambda made: made("future", **FUTURE)),
    "mismatched": ("isn't the one", lambda made: (made("first")[0], made("second")[1])),
    "purpose": ("purpose", lambda made: made("purpose", usage="clientAuth")),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_clients_could_not_use_is_refused_and_later_the_old_one_stays(pair, made, what):
    said, sources = BROKEN[what]
    with pytest.raises(ConfigError, match=said):
        Tls(*sources(made))
    files, put = pair
    tls = Tls(*files)
    put(*sources(made))
    found = tls.reloaded()
    assert not found.changed
    assert said in found.error.message
    assert tls.error is found.error
    assert _connected(tls)[0] == _der(made("first")[0])
    put(*made("second"))
    assert tls.reloaded().changed
    assert tls.error is None


def test_files_that_are_none(pair, tmp_path):
    (certificate, key), _ = pair
    empty = tmp_path / "empty"
    empty.touch()
    for one, other in ((empty, key), (certificate, empty), (tmp_path / "none", key), (key, key)):
        with pytest.raises(ConfigError):
            Tls(one, other)


def test_an_encrypted_key_asks_nobody(pair, tmp_path):
    (certificate, key), _ = pair
    encrypted = tmp_path / "encrypted"
    _openssl("ec", "-in", key, "-aes128", "-passout", "pass:x", "-out", encrypted)
    with pytest.raises(ConfigError, match="encrypted"):
        Tls(certificate, encrypted)
