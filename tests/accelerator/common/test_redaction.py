"""Secrets stay out of messages and representations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.common.config.config import Config
from accelerator.common.redaction import redacted
from accelerator.errors import ConfigError
from accelerator.iceberg import CatalogSettings
from accelerator.iceberg.catalogs.readers import Pointer, refused, unavailable
from accelerator.iceberg.errors import CatalogError, read_errors

_SECRETS = {
    "s3.secret-access-key": "AKIA-very-secret",
    "token": "ey.ab.cd",
    "jdbc.password": "pa$$w(rd",
    "credential": "client:hush-hush",
    "uri": "postgresql://me:p4ss@host/db",
    "warehouse": "s3://bucket/wh",
}
_HIDDEN = ("AKIA-very-secret", "ey.ab.cd", "pa$$w(rd", "hush-hush", "p4ss")
_SAID = "login with " + " ".join(_SECRETS.values()) + " refused by s3://bucket/wh"


def test_values_of_secret_properties_are_hidden() -> None:
    shown = redacted(_SAID, _SECRETS)
    assert not any(one in shown for one in _HIDDEN)
    assert shown.endswith("refused by s3://bucket/wh")
    assert "postgresql://me:***@host/db" in shown
    assert redacted("plain", {"token": ""}) == "plain"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at postgresql://u:pa/ss@h/db", "at postgresql://u:***@h/db"),
        ("at http://u:p@ss@h", "at http://u:***@h"),
        ("at https://to.ken@h/x", "at https://***@h/x"),
        ("s3://b/x?sig=hush&a=1", "s3://b/x?sig=***&a=1"),
        ("jdbc:x?user=me&password=hush", "jdbc:x?user=me&password=***"),
        ("abfss://box@account.dfs/x", "abfss://box@account.dfs/x"),
    ],
)
def test_addresses(text: str, shown: str) -> None:
    assert redacted(text, {}) == shown


_PIECES = (
    "://",
    "http",
    "https://",
    "a",
    "@",
    ":",
    "/",
    "?",
    "&",
    ";",
    "=",
    "key",
    "sig",
    " ",
    "Pwd",
)
_WORDS = "password|passwd|pwd|secret|token|credential|key"


def _by_patterns(text: str) -> str:
    """The rule as three patterns, which take forever where a text is long and made for it."""
    text = re.sub(r"(?<=://)([^\s/@:]*):(\S+)@", r"\1:***@", text)
    text = re.sub(r"(https?://)[^\s/@:]+@", r"\1***@", text, flags=re.IGNORECASE)
    return re.sub(
        rf"([?&;][^=&;\s]*(?:{_WORDS}|sig)[^=&;\s]*=)[^&;\s]+", r"\1***", text, flags=re.IGNORECASE
    )


@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
def test_it_hides_what_the_patterns_say(text: str) -> None:
    assert redacted(text, {}) == _by_patterns(text)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["?key", "://a:", "://a:@", "&key=", "http://a", "=?", "?token=&"]
)
def test_long_texts_that_are_made_for_it(piece: str) -> None:
    """By the patterns one of 16,000 letters took minutes."""
    redacted(piece * 100_000, {})


def test_other_spellings_of_a_secret() -> None:
    properties = {"adls.connection-string": 'a/b "c"', "header.Authorization": "Bearer ey.abcdef"}
    said = 'a%2Fb%20%22c%22 or a/b \\"c\\" or ey.abcdef'
    assert redacted(said, properties) == "*** or *** or ***"
    assert redacted("it's hush-hush", {"pwd": "hush-hush"}) == "it's ***"


def test_errors_of_catalogs_have_none() -> None:
    settings = CatalogSettings("c", "rest", _SECRETS)
    told = [unavailable(settings, OSError(_SAID)), refused(settings, ("d", "t"), OSError(_SAID))]
    for error in (OSError(_SAID), ValueError(_SAID), KeyError(_SAID)):
        with pytest.raises(CatalogError) as caught, read_errors("it", "a hint", _SECRETS):
            raise error
        told.append(caught.value)
    for one in told:
        assert not any(secret in f"{one} {one.hint}" for secret in _HIDDEN)


def test_representations_have_none() -> None:
    for shown in (
        CatalogSettings("c", "rest", _SECRETS),
        Pointer("s3://b/m.json", _SECRETS),
        Config(store_options=_SECRETS, spark_conf=_SECRETS),
    ):
        assert not any(secret in repr(shown) for secret in _HIDDEN)


def test_a_setting_that_cant_be_doesnt_show_credentials() -> None:
    with pytest.raises(ConfigError) as caught:
        Config(store_options={"aws_secret_access_key": ["AKIA-very-secret"]})
    assert "AKIA" not in f"{caught.value} {caught.value.hint}"
